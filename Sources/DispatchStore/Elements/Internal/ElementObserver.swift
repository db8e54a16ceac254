/// An observer of one element; the hub of its collection knows it, not the store.
final class ElementObserver<Value: Sendable, Action: ActionType>: ObserverRecord,
  @unchecked Sendable
{
  // because its superclass is, and because the store's lock guards `last` and `version`
  typealias Change = ElementChange<Value, Action>

  private let body: @Sendable (Change) -> Void
  private let kept = Mailbox<Change>()
  /// The element as the observer knows it once it has got all changes, and the last commit that it was compared at.
  private var last: Value?
  private var version: UInt64?
  /// After so many calls it leaves its queue to others.
  private static var batch: Int { 64 }

  init(on queue: ObserverQueue?, _ body: @escaping @Sendable (Change) -> Void) {
    self.body = body
    super.init(on: queue)
  }

  /// It begins with the present element.
  ///
  /// - Returns: Whether a call is to be scheduled on its queue.
  func begin(with present: Value?, version: UInt64, isInitial: Bool) -> Bool {
    last = present
    guard isInitial else { return false }
    return kept.put(
      Change(old: nil, new: present, version: version, action: nil, transaction: nil))
      && queue != nil
  }

  /// What it keeps of a commit that may have changed its element.
  enum Kept {
    /// The element is as before.
    case nothing
    /// A change; whether a call is to be scheduled.
    case change(isDue: Bool)
  }

  func keep(
    _ new: Value?, _ commit: CommitInProgress, _ equality: ElementEquality<Value>
  ) -> Kept {
    guard version != commit.version, equality.differ(last, new) else { return .nothing }
    version = commit.version
    let old = last
    last = new
    let isDue = kept.put(
      Change(
        old: old, new: new, version: commit.version,
        action: commit.action.assumingMemoryBound(to: Action?.self).pointee,
        transaction: commit.transaction))
    return .change(isDue: isDue)
  }

  /// The hub has one notice for each change kept, in the same order.
  override func notify(of change: ObservedChange) {
    _ = callWithNext()
  }

  override func callOnQueue() -> Bool {
    for _ in 0..<Self.batch where !callWithNext() { return false }
    return true
  }

  private func callWithNext() -> Bool {
    yieldPoint(.callObserver)
    guard let change = kept.take() else { return false }
    if mayCall { body(change) }
    return true
  }
}
