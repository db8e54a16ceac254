/// The element that a follower knows.
@usableFromInline
final class ElementState<Value: Sendable>: @unchecked Sendable {
  // because the store's lock guards the mutable state
  /// The element as of the last change kept.
  @exclusivity(unchecked) @usableFromInline var last: Value?
  /// The last commit that was compared.
  @exclusivity(unchecked) @usableFromInline var version: UInt64 = 0
  /// The element of the last change that was delivered, for a stream, which may drop those between.
  @usableFromInline let delivered: Locked<Value?>?
  @usableFromInline let equality: ElementEquality<Value>

  @usableFromInline
  init(_ equality: ElementEquality<Value>, isOfStream: Bool) {
    self.equality = equality
    delivered = isOfStream ? Locked(nil) : nil
  }

  /// Begins with the present element.
  func begin(_ element: Value?) {
    last = element
    delivered?.withLock { $0 = element }
  }

  /// Makes the content of a change, or nil if the element equals the one that a stream has delivered before.
  @inlinable
  func receive(_ note: KeptNote) -> ChangeContent<Value?>? {
    let kept = unsafeDowncast(note.value.unsafelyUnwrapped, to: ReplacedValue<Value?>.self)
    guard let delivered else { return .replaced(kept) }
    let last = delivered.exchange(kept.value)
    if note.isInitial { return .now(kept.value) }
    guard equality.differ(last, kept.value) else { return nil }
    return .replaced(ReplacedValue(old: last.map { .some($0) }, by: kept.value))
  }
}
