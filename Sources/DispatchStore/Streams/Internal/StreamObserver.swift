/// What a stream gets of a store's commits.
struct StreamSource<Element> {
  /// The element of a commit, or of the present model; nil where there is none.
  ///
  /// Called under the store's lock. Gets the element that was kept last, where `comparesWithLast`.
  let element: (_ commit: CommitInProgress, _ last: Element?) -> Element?
  var comparesWithLast = false

  init(
    comparesWithLast: Bool = false, _ element: @escaping (CommitInProgress, Element?) -> Element?
  ) {
    self.comparesWithLast = comparesWithLast
    self.element = element
  }
}

/// The observer of one subscription: its store keeps it, and releases it when the store goes.
final class StreamObserver<Element: Sendable>: ObserverRecord, @unchecked Sendable {
  // because the store's lock guards `source` and `last`
  private let storage: StreamStorage<Element>
  private let source: StreamSource<Element>
  private let hasInitial: Bool
  private let holds: Bool
  private var last: Element?

  init(
    _ storage: StreamStorage<Element>, of source: StreamSource<Element>, initial: Bool,
    _ policy: StreamBufferingPolicy
  ) {
    (self.storage, self.source, hasInitial) = (storage, source, initial)
    holds = if case .suspending = policy { true } else { false }
    super.init()
  }

  deinit {
    storage.end()
  }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    guard let element = source.element(commit, last) else { return }
    if commit.isPresentModel, !hasInitial { return note(element) }
    let push = storage.push(element) {
      holds && !commit.isPresentModel ? StreamHold.begin(commit, &kept) : nil
    }
    if push.isKept { note(element) }
    if push.isDue { kept.schedule(self) }
  }

  private func note(_ element: Element) {
    if source.comparesWithLast { last = element }
  }

  /// Resumes the consumer on this thread: its task goes on elsewhere.
  override func scheduleCall() {
    yieldPoint(.wakeConsumer)
    storage.wake()
  }
}
