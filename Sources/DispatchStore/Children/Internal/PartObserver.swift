/// An observer of a part: called with each commit that has changed it, as far as its values can be compared.
final class PartObserver<Root: Sendable, Value: Sendable>: ObserverRecord, @unchecked Sendable {
  // because the store's lock guards `last`, and its delivery turn `next`
  private let path: PartPath<Root, Value>
  private let areEqual: (@Sendable (Value, Value) -> Bool)?
  private let body: @Sendable (ChildChange<Value?>) -> Void
  /// The action at an address, without its type.
  private let actionOf: @Sendable (UnsafeRawPointer) -> AnyAction?
  private let kept = Mailbox<ChildChange<Value?>>()
  /// The value to compare with: that of the last change kept.
  private var last: Value?
  /// The first change that was kept and not delivered, for an observer that the notifier calls.
  private var next: ChildChange<Value?>?
  /// After so many calls it leaves its queue to others.
  private static var batch: Int { 64 }

  init<Action>(
    _ path: PartPath<Root, Value>, of store: Store<Root, Action>, on queue: ObserverQueue?,
    by areEqual: (@Sendable (Value, Value) -> Bool)?,
    _ body: @escaping @Sendable (ChildChange<Value?>) -> Void
  ) {
    self.path = path
    self.areEqual = areEqual
    self.body = body
    actionOf = { $0.assumingMemoryBound(to: Action?.self).pointee }
    super.init(on: queue)
  }

  /// Begins with this model, in the store's exclusive section: its part is not delivered.
  func begin(with model: Root) {
    if areEqual != nil { last = path.value(in: model) }
  }

  override func keep(_ commit: CommitInProgress) -> Bool {
    let value = path.value(in: commit.model.assumingMemoryBound(to: Root.self).pointee)
    if let areEqual {
      if !commit.isPresentModel, isSame(value, areEqual) { return false }
      last = value
    }
    return kept.put(
      ChildChange(
        model: value, version: commit.version, action: actionOf(commit.action),
        transaction: commit.transaction))
  }

  private func isSame(_ value: Value?, _ areEqual: (Value, Value) -> Bool) -> Bool {
    guard let value, let last else { return value == nil && last == nil }
    return areEqual(last, value)
  }

  /// Changes are kept, and the notifier's deliveries made, in commit order; of some commits none was kept.
  override func notify(of change: ObservedChange) {
    yieldPoint(.callObserver)
    if next == nil { next = kept.take() }
    guard let due = next, due.version <= change.version else { return }
    next = nil
    if mayCall { body(due) }
  }

  override func callOnQueue() -> Bool {
    for _ in 0..<Self.batch {
      yieldPoint(.callObserver)
      guard let change = kept.take() else { return false }
      if mayCall { body(change) }
    }
    return true
  }
}
