import Synchronization

/// An observer of a part, called with each commit that has changed it, as far as its values can be compared.
///
/// Independent of the part's type: typed work is in a closure, compiled for that type at the place of observation.
@usableFromInline
final class ChildObserver: ObserverRecord, @unchecked Sendable {
  // because its superclass is
  /// Calls the program's observer with a retained value.
  @usableFromInline typealias Call = @Sendable (PartCommit) -> Void
  /// Takes a model's address, and whether to retain its part in any case; returns nil if the part is unchanged.
  @usableFromInline typealias Selection = @Sendable (UnsafeRawPointer, Bool) -> Call?

  private struct Notice: Sendable {
    let commit: PartCommit
    let call: Call
  }

  private let select: Selection
  private let actionOf: @Sendable (UnsafeRawPointer) -> AnyAction?
  private let kept = Mailbox<Notice>()
  /// The number of notices not delivered by the notifier, so that `notify` returns at once for a commit without one.
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
      version: commit.version, action: actionOf(commit.action), dispatchID: commit.dispatchID)
    if self.kept.put(Notice(commit: commit, call: call)), !isInTurn { kept.schedule(self) }
  }

  /// Delivers the notice of a commit, if there is one; notices and deliveries are both in commit order.
  override func notify(of change: ObservedChange) {
    // The store's lock orders this: a commit's notice is enqueued before its delivery can begin.
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

  /// Retains the part of this model as the first value to compare with.
  override func begin(with model: UnsafeRawPointer, version: UInt64) {
    _ = select(model, true)
  }
}

/// The data of a commit that a part's observers receive besides the part.
@usableFromInline
struct PartCommit: Sendable {
  @usableFromInline let version: UInt64
  @usableFromInline let action: AnyAction?
  @usableFromInline let dispatchID: DispatchID?
}

/// The last value of a part, to compare with.
@usableFromInline
final class LastValue<Value: Sendable>: @unchecked Sendable {  // because the store's lock guards it
  @exclusivity(unchecked) @usableFromInline var value: Value?

  @inlinable
  init() {}
}
