/// The consumer's side of a stream.
///
/// The iterator owns it, and its release ends the subscription.
@usableFromInline
final class StreamSubscription: @unchecked Sendable {  // because one task at a time uses it
  private let storage: StreamStorage
  /// Removes the observer from the store.
  ///
  /// Captures both weakly, so that both are released when the store goes.
  private var unsubscribe: (() -> Void)?
  private let isSuspending: Bool
  /// The task that called `next` last, if the stream observes its waits.
  private var consumer: UInt?

  /// Subscribes to a store: the current model and the commits after it, atomically.
  ///
  /// - Parameter subscribe: Adds an observer to the store, which alone keeps it alive, and returns a closure that
  ///   removes it. The observer's release ends the stream, at once if the store is already gone.
  init(_ policy: StreamBufferingPolicy, _ subscribe: (StreamStorage) -> (() -> Void)?) {
    storage = StreamStorage(policy)
    isSuspending = if case .suspending = policy { true } else { false }
    unsubscribe = subscribe(storage)
  }

  /// Subscribes to the elements that a source makes of each commit.
  @usableFromInline
  convenience init<Model, Action>(
    to store: Store<Model, Action>?, _ policy: StreamBufferingPolicy, initial: Bool,
    comparesWithLast: Bool = false, keepsLastModel: Bool = false,
    _ source: @escaping StreamSource
  ) {
    self.init(policy) { storage in
      let observer = StreamObserver(
        storage, initial: initial, comparesWithLast: comparesWithLast,
        keepsLastModel: keepsLastModel, source)
      let isInTwoSteps = isPlanted(.lostBeforeSubscription)
      if isInTwoSteps { store?.keepPresentModelBefore(observer) }
      store?.add(observer, initial: !isInTwoSteps)
      return { [weak observer, weak storage = store?.storage] in observer?.end(in: storage) }
    }
  }

  /// Subscribes to the deltas of a collection.
  @usableFromInline
  convenience init<Model, Action>(
    toDeltasOf store: Store<Model, Action>?, _ work: DeltaWork, _ policy: DeltaBufferingPolicy,
    initial: Bool
  ) {
    self.init(policy.policy) { storage in
      let observer = DeltaStreamObserver(work, storage, merges: policy == .merging)
      store?.begin(observer, initial: initial)
      return { [weak observer, weak storage = store?.storage] in
        if let observer { storage?.end(observer) }
      }
    }
  }

  /// Subscribes to one element of a collection.
  @usableFromInline
  convenience init<Model, Action, Elements: KeyedCollection & Sendable>(
    to store: Store<Model, Action>?, element key: Elements.ElementKey,
    of path: any KeyPath<Model, Elements> & Sendable, _ policy: StreamBufferingPolicy,
    initial: Bool, _ makeHub: Store<Model, Action>.MakeHub<Elements>
  ) where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    self.init(policy) { storage in
      let observer = ElementStreamObserver<Elements.ElementValue, Action>(storage)
      return store?.subscribe(observer, path, key, initial: initial, makeHub)
    }
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
    unsubscribe.take()?()
    storage.close()
  }

  private func observeWaits(of task: UInt?) {
    guard task != consumer else { return }
    if let consumer { TaskWaitTable.remove(storage, from: consumer) }
    if let task { TaskWaitTable.add(storage, to: task) }
    consumer = task
  }
}
