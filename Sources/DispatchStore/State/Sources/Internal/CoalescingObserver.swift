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
  /// The storage while a call is scheduled.
  ///
  /// Strong, so that the call is made even if the store goes meanwhile.
  private let scheduled = Locked<ModelStorage<Model, Action>?>(nil)

  private struct Notice {
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
    let isDue = self.kept.put(
      Notice(
        commit: StoreCommit(
          version: commit.version,
          action: commit.action.assumingMemoryBound(to: Action?.self).pointee,
          dispatchID: commit.dispatchID),
        isInitial: commit.isPresentModel))
    guard isDue else { return }
    scheduled.withLock { $0 = storage }
    kept.schedule(self)
  }

  override func releaseKept() {
    _ = kept.takeAll()
    _ = scheduled.exchange(nil)
  }

  override func scheduleCall() { queue?.enqueue(call) }

  override var needsNoTurn: Bool { true }

  private func call() {
    let storage = scheduled.withLock { $0.take() }
    let notices = kept.takeAll()
    yieldPoint(.callObserver)
    guard let storage else { return }
    // The beginning comes apart, with the version of the subscription.
    if let first = notices.first, first.isInitial {
      deliver([first.commit], isInitial: true, of: storage)
    }
    deliver(notices.filter { !$0.isInitial }.map(\.commit), isInitial: false, of: storage)
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
