/// A store's part in a round, or one attempt at it.
///
/// It owns the commits of the store's code, and its operation reports here.
@usableFromInline
final class StoreRun: CommitOwner, @unchecked Sendable {
  // because one step at a time has the start and the operation, the end is set before the report of it locks the
  // round, and the rest is constant
  private let round: Round
  let entry: StoreEntry
  /// The verdict of the middlewares; nil if they let the action pass.
  let reply: MiddlewareChain.Reply?
  /// The action that the store gets.
  let action: any ActionType
  /// The dispatch's store index.
  let index: Int
  /// Set if a failed store runs again.
  let repeated: Repeated?
  /// The operation that was made and is to be run.
  private var operation: (any StoreOperation)?
  /// The start of the store by the dispatcher's clock, and the end of its operation; nil without middlewares.
  var startedAt: Int64?
  var endedAt: Int64?

  /// An attempt that is not the first one.
  struct Repeated {
    let attempt: Int
    /// The verdict of the middlewares; nil if they let the action pass.
    let reply: MiddlewareChain.Reply?
    /// The time at which they had been called.
    let began: Int64?
  }

  init(
    _ entry: StoreEntry, at index: Int, _ reply: MiddlewareChain.Reply?, in round: Round,
    again repeated: Repeated?
  ) {
    (self.entry, self.index, self.reply) = (entry, index, reply)
    (self.round, self.repeated) = (round, repeated)
    action = reply?.action ?? round.action
  }

  var attempt: Int { repeated?.attempt ?? 1 }
  var storeIdentifier: String { entry.identifier }
  var dispatch: Dispatch { round.dispatch }
  /// Runs the steps of the dispatch.
  var scheduler: Scheduler { round.scheduler }
  /// The number of the dispatcher.
  var dispatcherNumber: UInt64 { round.route.dispatcher }
  /// The present time, if a hook gets it.
  var now: Int64? { round.now }
  /// The store whose code runs: of an atomic action, the leader's run has that of all stores.
  private var runningIndex: Int { round.isAtomic ? round.atomic.index : index }
  /// Whether actions that its code dispatches are not cancelled with the dispatch.
  var runsRegardless: Bool { round.route.runsRegardless[runningIndex] }
  var prerequisiteResults: [StoreResult] {
    round.state.withLock { $0.prerequisiteResults(index) }
  }

  // MARK: Steps

  /// Takes the action to the store, as far as this thread can; the outcome, if it has one at once.
  func start(on thread: ThreadState) -> StoreOutcome? {
    goOn(after: entry.answer(action, on: thread))
  }

  /// Continues with the store's answer, to this run or to an inline run.
  func goOn(after step: InlineStep) -> StoreOutcome? {
    switch step {
    case .finished, .ended, .leftToRound: return step.outcome
    case .unfinished(let operation):
      self.operation = operation
      return operation.enter(self)
    case .running(let operation):
      // The round first: until it knows the operation, a cancellation reaches the operation through its dispatch.
      started(operation)
      return operation.join(self)
    }
  }

  /// Runs the operation, all of whose dependencies have finished.
  func run() {
    operation.take()?.run()
  }

  // MARK: Reports of its operation and of stores, on any thread

  /// Makes the operation known to the round, so that a cancellation reaches it.
  func started(_ operation: any StoreOperation) {
    yieldPoint(.started, storeIdentifier)
    if round.state.withLock({ $0.started(operation, at: index) }) {
      round.cancel(operation, at: index)
    }
  }

  /// Reports that all dependencies of the operation have finished.
  func becameReady() {
    round.report(self, .becameReady) { $0.becameReady(in: attempt) }
  }

  func operationEnded(_ outcome: StoreOutcome) {
    endedAt = now
    round.report(self, .operationEnded) { $0.operationEnded(outcome) }
  }

  /// Begins a commit of a task that the operation started.
  ///
  /// The operation does not end before the delivery. Returns false if it has ended.
  func beginTaskCommit() -> Bool {
    yieldPoint(.update, storeIdentifier)
    return round.state.withLock { $0.entries[index].beginTaskCommit(in: attempt) }
  }

  func endTaskCommit() { round.report(self, .endUpdate) { $0.endTaskCommit() } }

  // MARK: CommitOwner

  @usableFromInline var dispatchID: DispatchID { round.dispatch.id }
  @usableFromInline var waiting: Dispatch? { dispatch }
  @usableFromInline func savesNext(_ storage: StoreStorage) -> Bool {
    dispatch.isSynchronous && entry.storage === storage && round.endsAfterReduction
  }
  @usableFromInline var undeliveredCount: Int {
    round.state.withLock { $0.entries[index].undelivered }
  }
  @usableFromInline func commitDeferred() {
    round.state.withLock { $0.entries[index].commitDeferred() }
  }
  @usableFromInline func commitDelivered() {
    round.report(self, .commitDelivered) { $0.commitDelivered() }
  }

  @usableFromInline
  func action<Model, Action>(in store: Store<Model, Action>) -> Action? {
    let entry = round.route.entries[runningIndex]
    guard entry.isOf(store) else { return nil }
    return withAddress(of: runningIndex == index ? action : round.action) {
      entry.action(at: $0, as: Action.self)
    }
  }

  // MARK: Its block

  func makeExecutor() -> OperationExecutor { OperationExecutor(scheduler) }

  /// Makes the context of the block, in the step that begins it.
  func makeTaskContext() -> TaskContext {
    TaskContext(self, of: dispatch, at: scheduler, holdsUpMainQueue: holdsUpMainQueue)
  }

  /// Whether the thread that runs the steps of the dispatch also runs the jobs of `async` blocks, or begins them.
  var runsBlocksInSteps: Bool { scheduler.runsBlocksInSteps }

  /// The task of the dispatch's caller, if that runs its `async` block.
  ///
  /// A store that runs regardless is not cancelled with that task, and others than the task may cancel a dispatch that
  /// is cancellable. Their blocks therefore get a task of their own.
  var callersTask: TaskScheduler? {
    guard let task = scheduler.asTask, !runsRegardless,
      dispatch.details?.isCancellable != true, dispatch.details?.isDetached != true
    else { return nil }
    return task
  }

  /// Makes the own task of its block, which is cancelled with the caller's task unless the store runs regardless.
  func makeBlockTask(_ make: () -> Task<Void, Never>) -> Task<Void, Never> {
    guard !runsRegardless, let task = scheduler.asTask else { return make() }
    return task.adopt(at: index, make)
  }

  /// Whether it blocks the main queue until it has ended.
  ///
  /// Call it on the thread that starts it.
  var holdsUpMainQueue: Bool { dispatch.isSynchronous && MainQueue.isCurrent }
}
