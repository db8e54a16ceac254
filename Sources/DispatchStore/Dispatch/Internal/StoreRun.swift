/// A store's part in an action that has not ended at once: on behalf of what the store's code changes models, and what
/// its operation reports to.
@usableFromInline
class StoreRun: CommitOwner, @unchecked Sendable {
  // because one step at a time has the times, and the rest is constant while others know the store run
  /// The store's entry, which knows its types: a part of the route, which the store run refers to; nil while it is not
  /// in use.
  @exclusivity(unchecked) private(set) final unowned(unsafe) var entry: StoreEntry!
  /// The action that the store gets.
  @exclusivity(unchecked) private(set) final var action: (any ActionType)!
  /// The dispatch's store index.
  @exclusivity(unchecked) private(set) final var index = 0
  @exclusivity(unchecked) @usableFromInline private(set) final var transaction = TransactionID(
    rawValue: 0)
  /// By the dispatcher's clock, where there are middlewares: when the store started; when its operation ended.
  @exclusivity(unchecked) final var startedAt: Int64?
  @exclusivity(unchecked) final var endedAt: Int64?

  init() {}

  /// Before others know it.
  final func begin(
    _ entry: StoreEntry, at index: Int, _ action: any ActionType, in transaction: TransactionID
  ) {
    (self.entry, self.action) = (entry, action)
    (self.index, self.transaction) = (index, transaction)
  }

  /// It is not in use.
  final func end() {
    (entry, action, startedAt, endedAt) = (nil, nil, nil, nil)
  }

  final var storeIdentifier: String { entry.identifier }

  /// Its dispatch.
  var dispatch: Dispatch { fatalError("StoreRun is abstract.") }

  /// Where its steps run.
  var scheduler: Scheduler { fatalError("StoreRun is abstract.") }

  /// The number of the dispatcher.
  var dispatcherNumber: UInt64 { fatalError("StoreRun is abstract.") }

  /// The present time, where a hook gets it.
  var now: Int64? { fatalError("StoreRun is abstract.") }

  /// Whether what is dispatched by its code is not cancelled with the dispatch.
  var runsRegardless: Bool { fatalError("StoreRun is abstract.") }

  /// Whether no other store of the dispatch can be under way meanwhile.
  var isOnly: Bool { fatalError("StoreRun is abstract.") }

  /// How its prerequisites ended.
  var prerequisiteResults: [StoreResult] { fatalError("StoreRun is abstract.") }

  // MARK: What its operation and the store call, on any thread

  /// The operation is about to run, or has been started: from now on a cancellation reaches it here.
  func started(_ operation: AnyObject) { fatalError("StoreRun is abstract.") }

  /// What the operation depends on has finished.
  func becameReady() { fatalError("StoreRun is abstract.") }

  func operationEnded(_ outcome: StoreOutcome) { fatalError("StoreRun is abstract.") }

  /// A task that the operation started begins a commit, before the delivery of which the operation does not
  /// end; false where it has ended.
  func beginTaskCommit() -> Bool { fatalError("StoreRun is abstract.") }

  func endTaskCommit() { fatalError("StoreRun is abstract.") }

  @usableFromInline var undeliveredCount: Int { fatalError("StoreRun is abstract.") }

  @usableFromInline func commitDeferred() { fatalError("StoreRun is abstract.") }

  @usableFromInline func commitDelivered() { fatalError("StoreRun is abstract.") }

  @usableFromInline final var waiting: Dispatch? { dispatch }

  @usableFromInline final func action<Model, Action>(in store: Store<Model, Action>) -> Action? {
    guard entry.isOf(store) else { return nil }
    return withAddress(of: action) { entry.action(at: $0, as: Action.self) }
  }

  // MARK: Its block

  final func makeExecutor() -> OperationExecutor { OperationExecutor(scheduler) }

  /// Called in the step that begins the block.
  final func makeTaskContext() -> TaskContext {
    TaskContext(self, of: dispatch, at: scheduler, holdsUpMainQueue: holdsUpMainQueue)
  }

  /// Whether the thread that runs the steps of the dispatch also runs the jobs of `async` blocks, or begins them.
  final var runsBlocksInSteps: Bool { scheduler.runsBlocksInSteps }

  /// The task of the dispatch's caller, where that runs its `async` block.
  ///
  /// A store that runs regardless is not cancelled with that task, and one of a dispatch that others may cancel is
  /// cancelled without it: their blocks get a task to themselves.
  final var callersTask: TaskScheduler? {
    guard let task = scheduler.asTask, !runsRegardless,
      dispatch.details?.isControlled != true
    else { return nil }
    return task
  }

  /// Whether the main queue runs nothing before it has ended; on the thread that starts it.
  final var holdsUpMainQueue: Bool { dispatch.isSynchronous && MainQueue.isCurrent }
}

/// What became of starting a store run.
enum StoreRunStart {
  /// It ended without an operation.
  case ended(StoreOutcome)
  /// The operation's dependencies have not finished; `becameReady` follows.
  case waiting
  /// The operation may run.
  case ready
}
