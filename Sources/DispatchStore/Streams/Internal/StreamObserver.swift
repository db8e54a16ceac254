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
  private var last: StreamedElement?

  init(
    _ storage: StreamStorage, initial: Bool, comparesWithLast: Bool,
    _ source: @escaping StreamSource
  ) {
    (self.storage, self.source) = (storage, source)
    (hasInitial, self.comparesWithLast) = (initial, comparesWithLast)
    super.init()
  }

  deinit {
    storage.end()
  }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    guard let element = source(commit, last) else { return }
    if commit.isPresentModel, !hasInitial { return note(element) }
    let push = storage.push(element) {
      commit.isPresentModel ? nil : StreamHold.begin(commit, &kept)
    }
    if push.isKept { note(element) }
    if push.isDue { kept.schedule(self) }
  }

  private func note(_ element: StreamedElement) {
    if comparesWithLast { last = element }
  }

  /// Resumes the consumer from this thread.
  ///
  /// Its task continues on its own executor.
  override func scheduleCall() {
    yieldPoint(.wakeConsumer)
    storage.wake()
  }
}
