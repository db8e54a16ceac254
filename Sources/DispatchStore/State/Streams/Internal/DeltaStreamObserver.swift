/// The observer of one subscription to deltas.
///
/// Only the store keeps it alive; its release ends the stream.
final class DeltaStreamObserver: DeltaObserver, @unchecked Sendable {
  // because its superclass is
  private let storage: StreamStorage
  private let merges: Bool

  /// - Parameter merges: Whether at most one delta is kept, into which later ones are merged.
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

  /// Returns the delta to keep after another one has arrived, or nil if the two cancel out.
  ///
  /// The store's lock keeps other commits out meanwhile. A consumer that comes now finds nothing, and suspends until
  /// the merged delta is kept.
  private func merged(_ next: KeptDelta) -> KeptDelta? {
    guard merges, let kept = storage.takeBack() else { return next }
    let delta = unsafeDowncast(kept, to: KeptDelta.self)
    work.merge(delta, next)
    return delta.isEmpty ? nil : delta
  }

  /// Resumes the consumer from this thread.
  ///
  /// Its task continues on its own executor.
  override func scheduleCall() {
    yieldPoint(.wakeConsumer)
    storage.wake()
  }
}
