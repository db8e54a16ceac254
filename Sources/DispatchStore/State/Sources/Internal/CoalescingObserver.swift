/// An observer of whole models on a queue: one call for all commits that the queue is behind.
final class CoalescingObserver<Model: Sendable, Action: ActionType>: ObserverRecord,
  @unchecked Sendable
{
  // because its superclass is
  private let queue: ObserverQueue?
  private weak var storage: ModelStorage<Model, Action>?
  private let body: @Sendable (Change<Model, Action>) -> Void
  private let kept = Mailbox<StoreCommit<Action>>()
  /// The storage while a call is scheduled.
  ///
  /// Strong, so that the call is made even if the store goes meanwhile.
  private let scheduled = Locked<ModelStorage<Model, Action>?>(nil)

  init(
    of storage: ModelStorage<Model, Action>, on queue: ObserverQueue?,
    _ body: @escaping @Sendable (Change<Model, Action>) -> Void
  ) {
    (self.queue, self.storage, self.body) = (queue, storage, body)
    super.init()
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

  override func scheduleCall() { queue?.enqueue(call) }

  override var needsNoTurn: Bool { true }

  private func call() {
    yieldPoint(.callObserver)
    let storage = scheduled.withLock { $0.take() }
    let commits = kept.takeAll()
    if mayCall, let storage { body(change(commits, of: storage)) }
  }

  private func change(
    _ commits: [StoreCommit<Action>], of storage: ModelStorage<Model, Action>
  ) -> Change<Model, Action> {
    let content = ChangeContent.present(PresentModel(of: storage) as PresentValue<Model>)
    guard let last = commits.last else {
      let version = storage.withLock { _ in storage.version }
      return Change(content, version: version, action: nil, dispatchID: nil, isInitial: true)
    }
    return Change(
      content, version: last.version, action: last.action, dispatchID: last.dispatchID,
      earlier: commits.count > 1 ? Array(commits.dropLast()) : nil)
  }
}
