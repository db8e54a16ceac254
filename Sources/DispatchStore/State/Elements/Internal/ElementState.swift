/// The element that a follower knows.
@usableFromInline
final class ElementState<Value: Sendable>: @unchecked Sendable {
  // because the store's lock guards the mutable state
  /// The element as of the last change kept.
  @exclusivity(unchecked) @usableFromInline var last: Value?
  /// The last commit that was compared.
  @exclusivity(unchecked) @usableFromInline var version: UInt64 = 0
  /// The element of the last change that was delivered.
  private let delivered = Locked<Value?>(nil)
  /// Compares a change with the one delivered before, if those between may have been dropped.
  private let equality: ElementEquality<Value>?

  @usableFromInline
  init(comparing equality: ElementEquality<Value>?) {
    self.equality = equality
  }

  /// Begins with the present element.
  func begin(_ element: Value?) {
    last = element
    delivered.withLock { $0 = element }
  }

  /// Makes the content of a change; called by one thread at a time.
  @usableFromInline
  func receive(_ note: KeptNote) -> ChangeContent<Value?>? {
    let new = TypedValue<Value?>.of(note.value)
    let old = delivered.withLock { old in
      defer { old = new }
      return old
    }
    if note.isInitial { return .now(new) }
    if let equality, !equality.differ(old, new) { return nil }
    return old == nil ? .now(new) : .replaced(old: old, by: new)
  }
}
