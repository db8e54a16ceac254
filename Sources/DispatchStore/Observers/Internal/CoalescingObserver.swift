/// An observer of whole models on a queue.
final class CoalescingObserver<Model: Sendable, Action: ActionType>: ObserverRecord,
  @unchecked Sendable
{
  // because its superclass is
  private weak var storage: ModelStorage<Model, Action>?
  private let body: @Sendable (CoalescedChange<Model, Action>) -> Void
  private let kept = Mailbox<StoreCommit<Action>>()

  init(
    of storage: ModelStorage<Model, Action>, on queue: ObserverQueue,
    _ body: @escaping @Sendable (CoalescedChange<Model, Action>) -> Void
  ) {
    self.storage = storage
    self.body = body
    super.init(on: queue)
  }

  override func keep(_ commit: CommitInProgress) -> Bool {
    if commit.isPresentModel { return kept.request() }
    return kept.put(
      StoreCommit(
        version: commit.version,
        action: commit.action.assumingMemoryBound(to: Action?.self).pointee,
        transaction: commit.transaction))
  }

  override func callOnQueue() -> Bool {
    yieldPoint(.callObserver)
    let commits = kept.takeAll()
    if mayCall, let storage { body(CoalescedChange(commits: commits, of: storage)) }
    return false
  }
}
