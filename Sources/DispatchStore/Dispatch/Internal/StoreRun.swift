import Foundation

/// A store run in a round.
class StoreRun: CommitOwner, @unchecked Sendable {
  // because one step at a time has the store run, and steps follow each other through the round's lock
  let storeIdentifier: String
  /// The action that the store gets.
  let action: any ActionType
  /// The round that it belongs to, and its index there; set before any other thread knows the store run.
  private(set) var round: Round?
  private(set) var index = 0
  private(set) var transaction = TransactionID(rawValue: 0)
  /// By the dispatcher's clock, where there are middlewares: when the store started; when its operation ended.
  var startedAt: Int64?
  var endedAt: Int64?
  /// The store's last run, where it has run again; of the first one.
  var last: StoreRun?
  /// Of one that is not the first.
  var repeated: Repeated?

  /// Another attempt of a store.
  struct Repeated {
    let attempt: Int
    /// What its hooks have said; nil where they let the action pass.
    let reply: MiddlewareChain.Reply?
    /// When they had been called.
    let began: Int64?
  }

  private var attempt: Int { repeated?.attempt ?? 1 }

  /// The operation's dependencies have finished.
  func becameReady() {
    round?.becameReady(at: index, of: attempt)
  }

  init(storeIdentifier: String, action: any ActionType) {
    self.storeIdentifier = storeIdentifier
    self.action = action
  }

  /// The store as hooks get it.
  var storeForHooks: any StoreType { fatalError("StoreRun is abstract.") }

  /// Calls the reducer for the operation, and claims that.
  func start() -> StoreRunStart { fatalError("StoreRun is abstract.") }

  /// Takes over an operation that an inline run has claimed, and may have started.
  func takeOver(_ operation: AnyObject, isRunning: Bool) -> StoreRunStart {
    fatalError("StoreRun is abstract.")
  }

  /// Runs the operation, all of whose dependencies have finished.
  func run() { fatalError("StoreRun is abstract.") }

  /// Releases its operation, which has ended.
  func release(_ operation: inout Operation?) {}

  func enter(_ round: Round, at index: Int) {
    self.round = round
    self.index = index
    transaction = round.dispatch.id
  }

  // MARK: What the operation and the store call, on any thread

  func operationEnded(_ outcome: StoreOutcome) {
    round?.operationEnded(at: index, outcome)
  }

  func action<Model, Action>(in store: Store<Model, Action>) -> Action? {
    (self as? TypedStoreRun<Model, Action>)?.running(in: store)
  }

  /// How its prerequisites ended.
  var prerequisiteResults: [StoreResult] {
    round?.prerequisiteResults(at: index) ?? []
  }

  /// A task that the operation started begins a commit, before the delivery of which the operation does not
  /// end; false where it has ended.
  func beginTaskCommit() -> Bool {
    round?.beginTaskCommit(at: index, of: attempt) == true
  }

  func endTaskCommit() {
    round?.endTaskCommit(at: index)
  }

  var waiting: Dispatch? { round?.dispatch }
  var undeliveredCount: Int { round?.undeliveredCount(at: index) ?? 0 }

  func commitDeferred() {
    round?.commitDeferred(at: index)
  }

  func commitDelivered() {
    round?.commitDelivered(at: index)
  }

  func makeExecutor() -> OperationExecutor? {
    (round?.scheduler).map(OperationExecutor.init)
  }

  /// Called in the step that begins the block.
  func makeTaskContext() -> TaskContext? {
    round.map {
      TaskContext(
        self, of: $0.dispatch, at: $0.scheduler, holdsUpMainQueue: holdsUpMainQueue)
    }
  }

  /// Whether the thread that runs the steps of the dispatch also runs the jobs of `async` blocks, or begins them.
  var runsBlocksInSteps: Bool { round?.scheduler.runsBlocksInSteps == true }

  /// The task of the dispatch's caller, where that runs its `async` block.
  ///
  /// A store that runs regardless is not cancelled with that task, and one of a dispatch that others may cancel is
  /// cancelled without it: their blocks get a task to themselves.
  var callersTask: TaskScheduler? {
    guard let round, let task = round.scheduler as? TaskScheduler,
      !round.runsRegardless(at: index), round.dispatch.details?.isControlled != true
    else { return nil }
    return task
  }

  /// Whether the main queue runs nothing before it has ended; on the thread that starts it.
  var holdsUpMainQueue: Bool {
    round?.dispatch.isSynchronous == true && MainQueue.isCurrent
  }
}

/// What became of starting a store run.
enum StoreRunStart {
  /// It ended without an operation.
  case ended(StoreOutcome)
  /// The operation's dependencies have not finished; `Round.becameReady` follows.
  case waiting
  /// The operation may run.
  case ready
}

/// The typed side of a store run: below it nothing is cast.
final class TypedStoreRun<Model: Sendable, Action: ActionType>: StoreRun, @unchecked Sendable {
  // because it is one store run, as above
  private let entry: TypedStoreEntry<Model, Action>
  private var operation: ActionOperation<Model, Action>?

  init(_ entry: TypedStoreEntry<Model, Action>, action: any ActionType) {
    self.entry = entry
    super.init(storeIdentifier: entry.identifier, action: action)
  }

  /// The action, for commits to the store whose part this is.
  func running(in store: Store<Model, Action>) -> Action? {
    entry.typed === store ? entry.typed(action) : nil
  }

  override var storeForHooks: any StoreType { entry.storeForHooks }

  override func start() -> StoreRunStart {
    guard let store = entry.typed, let action = entry.typed(action) else {
      return .ended(.cancelled(hasStarted: false))
    }
    let operation = store.reducer.operation(for: action, in: store)
    if let error = store.fault(of: operation, returnedFor: action) {
      return .ended(.failed(error))
    }
    guard operation.claim() else {
      return .ended(.failed(store.usedBefore(operation, returnedFor: action)))
    }
    return take(operation)
  }

  override func takeOver(_ operation: AnyObject, isRunning: Bool) -> StoreRunStart {
    let operation = unsafeDowncast(operation, to: ActionOperation<Model, Action>.self)
    guard isRunning else { return take(operation) }
    // The round first: until it knows the operation, a cancellation reaches that through its dispatch.
    round?.started(operation, at: index)
    return operation.join(self).map(StoreRunStart.ended) ?? .waiting
  }

  private func take(_ operation: ActionOperation<Model, Action>) -> StoreRunStart {
    self.operation = operation
    _ = operation.join(self)
    round?.started(operation, at: index)
    do {
      let isReady = try operation.isReady(
        for: self, orElse: { self.becameReady() })
      guard isReady else { return .waiting }
    } catch {
      operation.failBeforeStart(error)
      return .ready
    }
    // What it depends on may have finished while the reducer ran: that was no time of its own.
    if startedAt != nil, operation.withState({ $0.hasDependencies }) { startedAt = round?.now }
    return .ready
  }

  override func run() {
    guard let operation else { return }
    // `take` would look its generic type up.
    self.operation = nil
    operation.run()
  }

  override func release(_ operation: inout Operation?) {
    guard isUniquelyReferencedForReuse(&operation), let ended = operation.take() else { return }
    unsafeDowncast(ended, to: ActionOperation<Model, Action>.self).keepAsSpare()
  }
}
