public import Foundation

/// One store's answer to one action: a real `Operation`.
///
/// A reducer returns one, and the dispatcher runs it. It may also be put into an `OperationQueue` of
/// your own, depended on, observed, waited for and cancelled as any other operation; then no
/// middleware and no completion hears of it.
///
/// Its block runs at most once. It ends when it was finished and its synchronous block has returned,
/// in exactly one outcome: finished, failed or cancelled. `cancel()` before the start means that it
/// never runs; after the start it only sets `isCancelled`, and cancels the task of an `async` block.
public final class ActionOperation<Model: Sendable, Action: ActionType>: Operation, OperationMaking,
  @unchecked Sendable
{
  // because `lock` guards what changes, and Operation itself is safe on several threads
  /// Both are there from when it is given out until nobody has it.
  private let subjectAction: UnsafeMutablePointer<Action>
  private var subjectStore: Store<Model, Action>?
  private let lock = Lock()
  fileprivate(set) var state = State()

  private override init() {
    subjectAction = .allocate(capacity: 1)
    super.init()
  }

  deinit {
    if state.hasDependencies { forgetDependencies() }
    if subjectStore != nil { subjectAction.deinitialize(count: 1) }
    subjectAction.deallocate()
    lock.destroy()
  }

  /// The action that it answers.
  public var action: Action { subjectAction.pointee }
  /// The store that it changes.
  public var store: Store<Model, Action> { subjectStore.unsafelyUnwrapped }

  /// Makes one, of this thread's spare one where there is one.
  static func make(
    _ action: Action, _ store: Store<Model, Action>, _ block: Block
  ) -> ActionOperation {
    let spare = ThreadState.current.spareOperations.take(store.operationType)
    let operation =
      spare.map { unsafeDowncast($0, to: ActionOperation.self) } ?? ActionOperation()
    operation.subjectAction.initialize(to: action)
    operation.subjectStore = store
    operation.state.block = block
    return operation
  }

  /// Keeps it for the next one of its kind, where nobody can tell the two apart.
  ///
  /// The caller holds the only reference to it, and has run it or called its reducer's `reduce`.
  @discardableResult
  func recycle(on thread: ThreadState) -> Bool {
    #if canImport(ObjectiveC)
      // Foundation's own state of it is not known there.
      return false
    #else
      guard !state.isTouched, _getWeakRetainCount(self) == 1, _getUnownedRetainCount(self) == 1
      else { return false }
      state.reset()
      subjectAction.deinitialize(count: 1)
      let type = subjectStore.take().unsafelyUnwrapped.operationType
      thread.spareOperations.put(self, of: type)
      return true
    #endif
  }

  @inline(__always)
  func withState<Result>(_ body: (inout State) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&state)
  }

  /// How it ended: finished, failed or cancelled; nil until then.
  public var outcome: StoreOutcome? {
    withState { $0.life.outcome }
  }

  /// Ends the operation as finished; before the start that takes effect at the start, without the block.
  ///
  /// A second finish is harmless, and is reported as an incident.
  public func finish() {
    finish(.finished)
  }

  /// Ends the operation as failed, or as cancelled for a `CancellationError`.
  public func finish(throwing error: any Error) {
    finish(StoreOutcome(thrown: error))
  }

  // MARK: Operation

  /// True: it ends when it was finished, not when `start()` returns.
  public override var isAsynchronous: Bool { true }

  /// Whether its block was called and it has not ended.
  public override var isExecuting: Bool { withState { $0.life.isRunning } }

  /// Whether it has ended.
  public override var isFinished: Bool { withState { $0.life.outcome != nil } }

  /// Whether it was cancelled, itself or by the handle of its dispatch.
  public override var isCancelled: Bool {
    let (isCancelled, dispatch) = withState { ($0.life.isCancelled, $0.dispatch) }
    return isCancelled || dispatch?.isCancelled == true
  }

  /// Makes it wait for another operation; before it starts.
  public override func addDependency(_ operation: Operation) {
    withState {
      $0.hasDependencies = true
      $0.isTouched = true
    }
    super.addDependency(operation)
  }

  /// Makes it wait for another operation no longer.
  public override func removeDependency(_ operation: Operation) {
    super.removeDependency(operation)
    stopWatching(operation)
  }

  /// Runs it on this thread; called by the queue that it was given to.
  ///
  /// - Precondition: All that it depends on has finished, or it was cancelled.
  public override func start() {
    let unfinished = isCancelled ? [] : dependencies.filter { !$0.isFinished }
    precondition(
      unfinished.isEmpty,
      """
      The operation for \(action) in store "\(store.identifier)" can't be started yet: \
      \(unfinished.count) of the operations that it depends on have not finished. Add it to a queue, \
      which waits for them.
      """)
    withState { $0.isTouched = true }
    run()
  }

  /// Cancels it: before the start it never runs; afterwards its block sees `isCancelled`.
  public override func cancel() {
    let (isNews, task) = withState { state in
      state.isTouched = true
      return (state.life.cancel(), state.task)
    }
    guard isNews else { return }
    super.cancel()
    task?.cancel()
    stopWatchingAll()
  }

  // MARK: What stays with the object, so that one where it was set is not given out again

  private func touch() {
    withState { $0.isTouched = true }
  }

  /// Called once it has finished, on some thread, by Foundation.
  public override var completionBlock: (@Sendable () -> Void)? {
    get { super.completionBlock }
    set {
      touch()
      super.completionBlock = newValue
    }
  }

  /// A name for messages.
  public override var name: String? {
    get { super.name }
    set {
      touch()
      super.name = newValue
    }
  }

  /// Its place among the ready operations of a queue of your own.
  public override var queuePriority: QueuePriority {
    get { super.queuePriority }
    set {
      touch()
      super.queuePriority = newValue
    }
  }

  /// How much of the system's resources it gets in a queue of your own.
  public override var qualityOfService: QualityOfService {
    get { super.qualityOfService }
    set {
      touch()
      super.qualityOfService = newValue
    }
  }
}
