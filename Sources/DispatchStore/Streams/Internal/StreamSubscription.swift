/// The consumer's part of a stream; an iterator has it, and releasing it ends the subscription.
class StreamSubscription<Element: Sendable>: @unchecked Sendable {
  // because one task at a time uses it
  nonisolated(nonsending) func next() async -> Element? {
    fatalError("StreamSubscription is abstract.")
  }
}

/// The same, with what is kept for it.
final class KeptSubscription<Kept: Sendable, Element: Sendable>: StreamSubscription<Element>,
  @unchecked Sendable
{
  // because its superclass is
  private let storage: StreamStorage<Kept>
  /// Weak, so that it is released when the store goes.
  private weak var observer: StreamObserver<Kept>?
  private weak var store: StoreStorage?
  /// Makes an element of what was kept, outside of locks; nil where it is not to be delivered.
  private let receive: (Kept) -> Element?
  private let isSuspending: Bool
  /// The task that called `next` last, where the stream observes its waits.
  private var consumer: UInt?

  init(
    _ storage: StreamStorage<Kept>, _ policy: StreamBufferingPolicy,
    _ observer: StreamObserver<Kept>?, of store: StoreStorage?,
    receive: @escaping (Kept) -> Element?
  ) {
    (self.storage, self.receive) = (storage, receive)
    (self.observer, self.store) = (observer, store)
    isSuspending = if case .suspending = policy { true } else { false }
  }

  deinit {
    end()
  }

  override nonisolated(nonsending) func next() async -> Element? {
    if isSuspending { observeWaits(of: TaskWait.currentTask) }
    while let kept = await storage.next() {
      if let element = receive(kept) { return element }
    }
    end()
    return nil
  }

  private func end() {
    if isSuspending { observeWaits(of: nil) }
    observer?.end(in: store)
    observer = nil
    storage.close()
  }

  private func observeWaits(of task: UInt?) {
    guard task != consumer else { return }
    if let consumer { TaskWaitTable.remove(storage, from: consumer) }
    if let task { TaskWaitTable.add(storage, to: task) }
    consumer = task
  }
}
