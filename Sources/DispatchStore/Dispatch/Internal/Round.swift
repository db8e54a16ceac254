import Foundation

/// One action on its way through the stores that take part.
///
/// Its steps run at the dispatch's scheduler; what operations and stores say of it may come on any thread,
/// and is turned into steps. Each step returns whether it was the one that closed the round.
final class Round: @unchecked Sendable {
  // because `parts` changes once, when no step is left

  let dispatch: Dispatch
  let transaction: TransactionID
  /// In the order in which they run.
  private var parts: [StoreRun]
  private let chain: MiddlewareChain
  /// When the middlewares were told; nobody else asks for a duration.
  private let began: Int64?
  private let state: Locked<RoundState>

  init(
    of dispatch: Dispatch, _ transaction: TransactionID, parts: [StoreRun], state: RoundState,
    chain: MiddlewareChain, began: Int64? = nil
  ) {
    self.dispatch = dispatch
    self.transaction = transaction
    self.parts = parts
    self.chain = chain
    self.began =
      chain.middlewares.isEmpty ? nil : began ?? dispatch.details?.dispatcher?.clock.nanoseconds
    self.state = Locked(state)
    for (place, part) in parts.enumerated() { part.enter(self, at: place) }
  }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }
  var onlyTellingIsLeft: Bool { state.withLock { $0.onlyTellingIsLeft } }

  var result: DispatchResult {
    let (identifiers, outcomes) = state.withLock { $0.results }
    return DispatchResult(
      transaction: transaction, identifiers: identifiers, outcomes: outcomes)
  }

  /// Lets go of the parts, which hold the round.
  func dissolve() {
    parts = []
  }

  // MARK: Steps

  /// Tells the middlewares, before anything is scheduled.
  func tellMiddlewares() {
    guard !chain.middlewares.isEmpty else { return }
    for part in parts {
      let told = dispatch.transaction(transaction)
      dispatch.perform(transaction, part: nil) { part.willDispatch(chain, told) }
    }
  }

  func begin() -> Bool {
    let (first, isClosed) = state.withLock { ($0.first, $0.isClosed) }
    return isClosed || start(first)
  }

  /// Goes on where a straight run has left: at a place where it stopped, and with all that may start.
  func begin(at place: Int, after step: StraightStep) -> Bool {
    let others = state.withLock { $0.first }
    let outcome: StoreOutcome? =
      switch step {
      case .finished: .finished
      case .ended(let outcome): outcome
      case .goesOn(let operation, let isRunning): goOn(at: place, operation, isRunning)
      }
    let (next, isClosed) = follow(place, state.withLock { $0.startReturned(place, outcome) })
    return isClosed || start((others + next).sorted())
  }

  private func goOn(at place: Int, _ operation: AnyObject, _ isRunning: Bool) -> StoreOutcome? {
    let part = parts[place]
    return run(part) { part.goOn(with: operation, isRunning: isRunning) }
  }

  /// Starts a part as said, and runs its operation where that is ready; the outcome, where it has none.
  private func run(_ part: StoreRun, _ start: () -> StoreRunStart) -> StoreOutcome? {
    var outcome: StoreOutcome?
    dispatch.perform(transaction, part: part) {
      switch start() {
      case .ended(let ended): outcome = ended
      case .waiting: break
      case .ready: part.run()
      }
    }
    return outcome
  }

  /// Starts places that may start; side by side where the scheduler does that.
  private func start(_ places: [Int]) -> Bool {
    let sideBySide = dispatch.scheduler.runsStoresConcurrently && !isCancelled
    var ready = places[...]
    while let place = ready.popFirst() {
      if sideBySide {
        for other in ready { post { $0.start([other]) } }
        ready = []
      }
      let (next, isClosed) = follow(place, start(place))
      if isClosed { return true }
      // Places are in the order in which the middlewares heard, and so is what runs.
      if !next.isEmpty { ready = (ready + next).sorted()[...] }
    }
    return false
  }

  private func start(_ place: Int) -> RoundState.Step {
    let part = parts[place]
    yieldPoint(.start, part.identifier)
    let (failed, isCancelled) = state.withLock { ($0.start(place), $0.isCancelled) }
    var outcome = part.decided ?? (isCancelled ? .cancelled : nil)
    if outcome == nil, let failed, !part.runsRegardless {
      let prerequisite = parts[failed.prerequisite].identifier
      outcome = .failed(
        DispatchError.dependencyFailed(part.identifier, after: prerequisite, failed.outcome))
    }
    if outcome == nil { outcome = run(part, part.start) }
    yieldPoint(.startReturned, part.identifier)
    return state.withLock { $0.startReturned(place, outcome) }
  }

  private func follow(_ place: Int, _ step: RoundState.Step) -> (next: [Int], isClosed: Bool) {
    switch step {
    case .close(let outcome): close(place, outcome)
    case .resume: follow(place, resume(place))
    case .wait: ([], false)
    }
  }

  /// Runs the operation at a place whose dependencies have finished.
  private func resume(_ place: Int) -> RoundState.Step {
    guard state.withLock({ $0.resume(place) }) else { return .wait }
    dispatch.perform(transaction, part: parts[place]) { parts[place].run() }
    return state.withLock { $0.startReturned(place) }
  }

  private func close(_ place: Int, _ outcome: StoreOutcome) -> (next: [Int], isClosed: Bool) {
    let part = parts[place]
    if part.heard > 0 {
      var told = dispatch.transaction(transaction)
      told.outcome = outcome
      told.duration = began.map { .nanoseconds(told.dispatcher.clock.nanoseconds - $0) }
      dispatch.perform(transaction, part: nil) {
        chain.did(told, action: part.action, in: part.storeForHooks, heard: part.heard)
      }
    }
    yieldPoint(.close, part.identifier)
    // Released outside the lock: what goes with an operation may run code.
    let (next, isClosed, operation) = state.withLock { $0.closed(place) }
    return withExtendedLifetime(operation) { (next, isClosed) }
  }

  // MARK: What is heard on any thread

  func operationEnded(at place: Int, _ outcome: StoreOutcome) {
    yieldPoint(.operationEnded, parts[place].identifier)
    post(state.withLock { $0.operationEnded(place, outcome) }, at: place)
  }

  func started(_ operation: Operation, at place: Int) {
    yieldPoint(.started, parts[place].identifier)
    if state.withLock({ $0.started(operation, at: place) }) { operation.cancel() }
  }

  func becameReady(at place: Int) {
    yieldPoint(.becameReady, parts[place].identifier)
    post(state.withLock { $0.becameReady(place) }, at: place)
  }

  func commitLeft(at place: Int) {
    state.withLock { $0.commitLeft(place) }
  }

  func commitTold(at place: Int) {
    yieldPoint(.commitDelivered, parts[place].identifier)
    post(state.withLock { $0.commitTold(place) }, at: place)
  }

  /// Cancels what is under way; what has not started ends as cancelled when its turn comes.
  func cancel() {
    for operation in state.withLock({ $0.cancel() }) { operation.cancel() }
  }

  private func post(_ step: RoundState.Step, at place: Int) {
    if case .wait = step { return }
    post { round in
      let (next, isClosed) = round.follow(place, step)
      return isClosed || round.start(next)
    }
  }

  /// Continues at the scheduler; the step that closes the round takes the dispatch further.
  private func post(_ step: @escaping @Sendable (Round) -> Bool) {
    dispatch.scheduler.resume { if step(self) { self.dispatch.roundClosed() } }
  }
}
