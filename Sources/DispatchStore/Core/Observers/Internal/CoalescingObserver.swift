/// An observer of whole models on a queue.
final class CoalescingObserver<Model: Sendable, Action: ActionType>: ObserverRecord,
  @unchecked Sendable
{
  // because its superclass is
  private weak var storage: ModelStorage<Model, Action>?
  private let body: @Sendable (CoalescedChange<Model, Action>) -> Void
  private let kept = Mailbox<StoreCommit<Action>>()
  /// The storage while a call is scheduled.
  ///
  /// Strong, so that the call is made even if the store goes meanwhile.
  private let scheduled = Locked<ModelStorage<Model, Action>?>(nil)

  init(
    of storage: ModelStorage<Model, Action>, on queue: ObserverQueue,
    _ body: @escaping @Sendable (CoalescedChange<Model, Action>) -> Void
  ) {
    self.storage = storage
    self.body = body
    super.init(on: queue)
  }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    guard commit.isPresentModel ? self.kept.request() : self.kept.put(self.commit(commit)) else {
      return
    }
    scheduled.withLock { $0 = storage }
    kept.schedule(self)
  }

  private func commit(_ commit: CommitInProgress) -> StoreCommit<Action> {
    StoreCommit(
      version: commit.version,
      action: commit.action.assumingMemoryBound(to: Action?.self).pointee,
      dispatchID: commit.dispatchID)
  }

  override func callOnQueue() -> Bool {
    yieldPoint(.callObserver)
    let storage = scheduled.withLock { $0.take() }
    let commits = kept.takeAll()
    if mayCall, let storage { body(CoalescedChange(commits: commits, of: storage)) }
    return false
  }
}
