/// The observer of one subscription to deltas: its store keeps it, and releases it when the store goes.
final class DeltaStreamObserver: DeltaObserver, @unchecked Sendable {
  // because its superclass is
  private let storage: StreamStorage
  private let merges: Bool

  /// - Parameter merges: Whether one delta at most is kept, into which the next ones are merged.
  init(_ work: DeltaWork, _ storage: StreamStorage, merges: Bool) {
    (self.storage, self.merges) = (storage, merges)
    super.init(work, isInTurn: false)
  }

  deinit {
    storage.end()
  }

  override func receive(_ delta: KeptDelta) -> Bool {
    storage.push(delta) { nil }.isDue
  }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    guard let delta = work.read(commit), let delta = merged(delta) else { return }
    let push = storage.push(delta) { StreamHold.begin(commit, &kept) }
    if push.isDue { kept.schedule(self) }
  }

  /// What is to be kept once there is another delta; nil where that has undone the one that was kept.
  ///
  /// The store's lock keeps other commits away meanwhile. A consumer that comes finds nothing, and suspends until the
  /// merged delta is kept.
  private func merged(_ next: KeptDelta) -> KeptDelta? {
    guard merges, let kept = storage.takeBack() else { return next }
    let delta = unsafeDowncast(kept, to: KeptDelta.self)
    work.merge(delta, next)
    return delta.isEmpty ? nil : delta
  }

  /// Resumes the consumer on this thread: its task goes on elsewhere.
  override func scheduleCall() {
    yieldPoint(.wakeConsumer)
    storage.wake()
  }
}
