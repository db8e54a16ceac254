/// One store's part in one dispatched action.
class StoreRun: CommitOwner, @unchecked Sendable {
  // because one step at a time has the part, and steps follow each other through the round's lock
  let identifier: String
  /// Whether it runs also where a store that it waits for did not finish.
  let runsRegardless: Bool
  /// What the middlewares let the store see.
  fileprivate(set) var action: any ActionType
  /// How many middlewares will hear the end.
  private(set) var heard = 0
  /// The end, where it was decided before the operation was asked for.
  private(set) var decided: StoreOutcome?
  /// The round that it belongs to; set before any other thread knows the part.
  private(set) var round: Round?
  private(set) var place = 0
  private(set) var transaction = TransactionID(rawValue: 0)

  init(identifier: String, runsRegardless: Bool, action: any ActionType) {
    self.identifier = identifier
    self.runsRegardless = runsRegardless
    self.action = action
  }

  /// The store as hooks are told of it.
  var storeForHooks: any StoreType { fatalError("StoreRun is abstract.") }

  /// Asks the reducer for the operation, and runs it or waits for what it depends on.
  func start() -> StoreRunStart { fatalError("StoreRun is abstract.") }

  /// Takes over an operation that a straight run has claimed, and may have started.
  func goOn(with operation: AnyObject, isRunning: Bool) -> StoreRunStart {
    fatalError("StoreRun is abstract.")
  }

  /// Runs the operation, all of whose dependencies have finished.
  func run() { fatalError("StoreRun is abstract.") }

  func enter(_ round: Round, at place: Int) {
    self.round = round
    self.place = place
    transaction = round.transaction
  }

  func willDispatch(_ chain: MiddlewareChain, _ transaction: MiddlewareContext) {
    take(chain.will(transaction, action: action, in: storeForHooks), of: chain)
  }

  /// Takes what the middlewares said of it; nil where they let the action pass.
  func take(_ reply: MiddlewareChain.Reply?, of chain: MiddlewareChain) {
    heard = reply?.heard ?? chain.middlewares.count
    guard let reply else { return }
    action = reply.action
    decided = reply.outcome
  }

  // MARK: What the operation and the store say, on any thread

  func operationEnded(_ outcome: StoreOutcome) {
    round?.operationEnded(at: place, outcome)
  }

  func action<Model, Action>(in store: Store<Model, Action>) -> Action? {
    (self as? TypedStoreRun<Model, Action>)?.running(in: store)
  }

  func commitDeferred() {
    round?.commitDeferred(at: place)
  }

  func commitDelivered() {
    round?.commitDelivered(at: place)
  }

  func makeExecutor() -> OperationExecutor? {
    (round?.dispatch.scheduler).map(OperationExecutor.init)
  }

  func makeTaskContext(on executor: OperationExecutor?) -> DispatchContext? {
    guard let round else { return nil }
    return StoreRunContext(
      round.dispatch, transaction: transaction, owner: self, outer: round.dispatch.outer,
      executor: executor?.asUnownedTaskExecutor(),
      holdsUpMainQueue: round.dispatch.isSynchronous && MainQueue.isCurrent)
  }
}

/// What became of starting a part.
enum StoreRunStart {
  /// It ended without an operation.
  case ended(StoreOutcome)
  /// The operation's dependencies have not finished; `Round.becameReady` follows.
  case waiting
  /// The operation may run.
  case ready
}

/// The typed side of a part: below it nothing is cast.
final class TypedStoreRun<Model: Sendable, Action: ActionType>: StoreRun, @unchecked Sendable {
  private let entry: TypedStoreEntry<Model, Action>
  private var operation: ActionOperation<Model, Action>?

  init(
    _ entry: TypedStoreEntry<Model, Action>, runsRegardless: Bool, action: any ActionType
  ) {
    self.entry = entry
    super.init(identifier: entry.identifier, runsRegardless: runsRegardless, action: action)
  }

  /// The action, for commits to the store that the part is of.
  func running(in store: Store<Model, Action>) -> Action? {
    entry.typed === store ? action as? Action : nil
  }

  override var storeForHooks: any StoreType {
    entry.typed ?? DepartedStore(identifier: identifier, actionType: Action.self)
  }

  override func start() -> StoreRunStart {
    guard let store = entry.typed, let action = action as? Action else {
      return .ended(.cancelled)
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

  override func goOn(with operation: AnyObject, isRunning: Bool) -> StoreRunStart {
    let operation = unsafeDowncast(operation, to: ActionOperation<Model, Action>.self)
    guard isRunning else { return take(operation) }
    // The round first: until it knows the operation, that asks its dispatch whether it was cancelled.
    round?.started(operation, at: place)
    return operation.join(self).map(StoreRunStart.ended) ?? .waiting
  }

  private func take(_ operation: ActionOperation<Model, Action>) -> StoreRunStart {
    self.operation = operation
    _ = operation.join(self)
    round?.started(operation, at: place)
    return operation.isReady(orElse: { self.round?.becameReady(at: self.place) })
      ? .ready : .waiting
  }

  override func run() {
    operation.take()?.run()
  }
}
