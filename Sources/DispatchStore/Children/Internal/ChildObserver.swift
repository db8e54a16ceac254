import Synchronization

/// An observer of a part: called with each commit that has changed it, as far as its values can be compared.
///
/// Without the part's type: what has that is a closure, compiled for it where the program observes.
@usableFromInline
final class ChildObserver: ObserverRecord, @unchecked Sendable {
  // because its superclass is
  /// Calls the program's observer with a value that was kept.
  @usableFromInline typealias Call = @Sendable (PartCommit) -> Void
  /// Takes the address of a model, and whether its part is kept in any case; nil where it is the same as before.
  @usableFromInline typealias Selection = @Sendable (UnsafeRawPointer, Bool) -> Call?

  private struct Notice: Sendable {
    let commit: PartCommit
    let call: Call
  }

  private let select: Selection
  private let actionOf: @Sendable (UnsafeRawPointer) -> AnyAction?
  private let kept = Mailbox<Notice>()
  /// How many notices the notifier has not delivered: it comes with each commit, also where none was kept of it.
  private let undelivered = Atomic(0)

  init(
    _ select: @escaping Selection, on queue: ObserverQueue?,
    actionOf: @escaping @Sendable (UnsafeRawPointer) -> AnyAction?
  ) {
    self.select = select
    self.actionOf = actionOf
    super.init(on: queue)
  }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    guard let call = select(commit.model, commit.isPresentModel) else { return }
    if isInTurn { undelivered.add(1, ordering: .relaxed) }
    let commit = PartCommit(
      version: commit.version, action: actionOf(commit.action), transaction: commit.transaction)
    if self.kept.put(Notice(commit: commit, call: call)), !isInTurn { kept.schedule(self) }
  }

  /// Notices are kept, and the notifier's deliveries made, in commit order; of some commits none was kept.
  override func notify(of change: ObservedChange) {
    // A notice of this commit was kept before its delivery could begin, which the store's lock orders.
    if undelivered.load(ordering: .relaxed) == 0 { return }
    yieldPoint(.callObserver)
    guard let due = kept.take(where: { $0.commit.version <= change.version }) else { return }
    undelivered.subtract(1, ordering: .relaxed)
    if mayCall { due.call(due.commit) }
  }

  override func callWithNext() -> Bool {
    yieldPoint(.callObserver)
    guard let notice = kept.take() else { return false }
    if mayCall { notice.call(notice.commit) }
    return true
  }

  /// The part in this model is the one to compare with first.
  override func begin(with model: UnsafeRawPointer, version: UInt64) {
    _ = select(model, true)
  }
}

/// What observers of a part get of a commit besides the part.
@usableFromInline
struct PartCommit: Sendable {
  @usableFromInline let version: UInt64
  @usableFromInline let action: AnyAction?
  @usableFromInline let transaction: TransactionID?
}

/// The value of a part to compare with.
@usableFromInline
final class LastValue<Value: Sendable>: @unchecked Sendable {  // because the store's lock guards it
  @exclusivity(unchecked) @usableFromInline var value: Value?

  @inlinable
  init() {}
}
