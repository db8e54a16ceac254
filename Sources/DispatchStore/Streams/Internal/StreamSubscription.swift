/// The consumer's part of a stream; an iterator has it, and releasing it ends the subscription.
@usableFromInline
final class StreamSubscription: @unchecked Sendable {  // because one task at a time uses it
  private let storage: StreamStorage
  /// Weak, so that it is released when the store goes.
  private weak var observer: StreamObserver?
  private weak var store: StoreStorage?
  private let isSuspending: Bool
  /// The task that called `next` last, where the stream observes its waits.
  private var consumer: UInt?

  /// Subscribes to a store: what it gets of the present model, and the commits after it, in one transition.
  @usableFromInline
  init<Model, Action>(
    to store: Store<Model, Action>?, _ policy: StreamBufferingPolicy, initial: Bool,
    comparesWithLast: Bool = false, _ source: @escaping StreamSource
  ) {
    storage = StreamStorage(policy)
    isSuspending = if case .suspending = policy { true } else { false }
    // Released at once where the store has gone: then the stream has ended.
    let observer = StreamObserver(
      storage, initial: initial, comparesWithLast: comparesWithLast, source)
    let isInTwoSteps = isPlanted(.lostBeforeSubscription)
    if isInTwoSteps { store?.keepPresentModelBefore(observer) }
    store?.add(observer, initial: !isInTwoSteps)
    (self.observer, self.store) = (observer, store?.storage)
  }

  deinit {
    end()
  }

  @usableFromInline
  nonisolated(nonsending) func next() async -> StreamedElement? {
    if isSuspending { observeWaits(of: TaskWait.currentTask) }
    let element = await storage.next()
    if element == nil { end() }
    return element
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
