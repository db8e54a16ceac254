/// Makes the element for a commit or for the current model, or nil if there is none.
///
/// Called under the store's lock. Receives the element that was kept last, if the stream compares with it.
@usableFromInline
typealias StreamSource =
  (_ commit: CommitInProgress, _ last: StreamedElement?) -> StreamedElement?

/// The observer of one subscription.
///
/// Only the store keeps it alive; its release ends the stream.
final class StreamObserver: ObserverRecord, @unchecked Sendable {
  // because the store's lock guards `source` and `last`
  private let storage: StreamStorage
  private let source: StreamSource
  private let hasInitial: Bool
  private let comparesWithLast: Bool
  /// Whether it notes commits, and keeps a model only when the store goes.
  private let keepsLastModel: Bool
  private var hasNoted = false
  private var last: StreamedElement?

  init(
    _ storage: StreamStorage, initial: Bool, comparesWithLast: Bool, keepsLastModel: Bool,
    _ source: @escaping StreamSource
  ) {
    (self.storage, self.source) = (storage, source)
    (hasInitial, self.comparesWithLast) = (initial, comparesWithLast)
    self.keepsLastModel = keepsLastModel
    super.init()
  }

  deinit {
    storage.end()
  }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    guard let element = source(commit, last) else { return }
    if commit.isPresentModel, !hasInitial { return note(element) }
    hasNoted = true
    let push = storage.push(element) {
      commit.isPresentModel ? nil : StreamHold.begin(commit, &kept)
    }
    if push.isKept { note(element) }
    if push.isDue { kept.schedule(self) }
  }

  private func note(_ element: StreamedElement) {
    if comparesWithLast { last = element }
  }

  /// Replaces a note that was not taken by the last model.
  override func storeGoes(_ commit: CommitInProgress) {
    guard keepsLastModel, hasNoted, let element = source(commit, nil) else { return }
    // In the place of a note that was not taken; a model that was taken is known by its version.
    _ = storage.takeBack()
    _ = storage.push(element) { nil }
  }

  /// Resumes the consumer from this thread.
  ///
  /// Its task continues on its own executor.
  override func scheduleCall() {
    yieldPoint(.wakeConsumer)
    storage.wake()
  }
}
