/// An observer of whole models on a queue: one call for all commits that the queue is behind.
///
/// The present model with which it may begin has a call of its own before.
final class CoalescingObserver<Model: Sendable, Action: ActionType>: ObserverRecord,
  @unchecked Sendable
{
  // because its superclass is
  private let queue: ObserverQueue?
  private weak var storage: ModelStorage<Model, Action>?
  private let body: @Sendable (Change<Model, Action>) -> Void
  private let kept = Mailbox<Notice>()

  private struct Notice {
    /// Strong, so that the call is made even if the store goes meanwhile.
    let storage: ModelStorage<Model, Action>
    let commit: StoreCommit<Action>
    /// Whether it is no commit, but names the version with which the observation began.
    let isInitial: Bool
  }

  init(
    of storage: ModelStorage<Model, Action>, on queue: ObserverQueue?,
    _ body: @escaping @Sendable (Change<Model, Action>) -> Void
  ) {
    (self.queue, self.storage, self.body) = (queue, storage, body)
    super.init()
  }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    guard let storage else { return }
    let isDue = self.kept.put(
      Notice(
        storage: storage,
        commit: StoreCommit(
          version: commit.version,
          action: commit.action.assumingMemoryBound(to: Action?.self).pointee,
          dispatchID: commit.dispatchID),
        isInitial: commit.isPresentModel))
    if isDue { kept.schedule(self) }
  }

  override func releaseKept() { _ = kept.takeAll() }

  override func scheduleCall() { queue?.enqueue(call) }

  override var needsNoTurn: Bool { true }

  private func call() {
    let notices = kept.takeAll()
    yieldPoint(.callObserver)
    guard let first = notices.first else { return }
    // The beginning comes apart, with the version of the subscription.
    if first.isInitial { deliver([first.commit], isInitial: true, of: first.storage) }
    let commits = notices.filter { !$0.isInitial }.map(\.commit)
    deliver(commits, isInitial: false, of: first.storage)
  }

  private func deliver(
    _ commits: [StoreCommit<Action>], isInitial: Bool, of storage: ModelStorage<Model, Action>
  ) {
    guard let last = commits.last, mayCall else { return }
    let present = PresentModel(of: storage)
    body(
      Change(
        .present { present.value }, version: last.version, action: last.action,
        dispatchID: last.dispatchID, isInitial: isInitial,
        earlier: commits.count > 1 ? Array(commits.dropLast()) : nil))
  }
}
