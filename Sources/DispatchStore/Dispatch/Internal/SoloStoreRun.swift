import Foundation

/// A store run by itself, where an inline run has stopped and all other stores wait for this one: an inline run goes on
/// after it.
///
/// Its steps run at the dispatch's scheduler; its operation and its store report to it on any thread, and it makes a
/// step of what they report.
final class SoloStoreRun: StoreRun, @unchecked Sendable {
  // because all of its own properties are constants or locked
  /// The action as dispatched.
  let dispatched: any ActionType
  let session: MiddlewareSession?
  let route: Route
  /// How the stores before it ended, by store index; empty where all finished.
  private let earlier: [StoreOutcome]
  private let ofDispatch: Dispatch
  private let steps: Scheduler
  private let state = Locked(State())

  private struct State {
    var run = StoreRunState()
    var isCancelled = false
  }

  init(
    of dispatch: Dispatch, at scheduler: Scheduler, _ action: any ActionType, to route: Route,
    _ session: MiddlewareSession?, index: Int, after earlier: [StoreOutcome]
  ) {
    (ofDispatch, steps, dispatched) = (dispatch, scheduler, action)
    (self.route, self.session, self.earlier) = (route, session, earlier)
    super.init(
      route.entries[index], at: index, session?.action(at: index) ?? action, in: dispatch.id)
  }

  override var dispatch: Dispatch { ofDispatch }
  override var scheduler: Scheduler { steps }
  override var dispatcherNumber: UInt64 { route.dispatcher }
  override var now: Int64? { session?.now }
  override var runsRegardless: Bool { route.runsRegardless[index] }
  override var isOnly: Bool { true }
  override var prerequisiteResults: [StoreResult] {
    route.prerequisiteResults(at: index, earlier)
  }

  /// How it has ended, and those before it, by store index; empty where all finished.
  var outcomes: [StoreOutcome] {
    let outcome = state.withLock { $0.run.outcome } ?? .finished
    if outcome.isFinished { return earlier }
    var outcomes =
      earlier.isEmpty ? Array(repeating: StoreOutcome.finished, count: route.count) : earlier
    outcomes[index] = outcome
    return outcomes
  }

  var operation: Operation? { state.withLock { $0.run.operation } }
  var onlyDeliveryIsLeft: Bool { state.withLock { $0.run.isDelivery } }

  /// Where it stands, and those that wait for it, for diagnoses.
  var standings: [StoreStanding] {
    let (phase, operation) = state.withLock { ($0.run.standing, $0.run.operation) }
    let own = StoreStanding(
      identifier: storeIdentifier, phase: phase, prerequisites: [], operation: operation)
    return [own]
      + ((index + 1)..<route.count).map { later in
        let awaited = (route.prerequisites?[later] ?? []).filter { $0 >= index }
        return StoreStanding(
          identifier: route.identifiers[later], phase: .waiting,
          prerequisites: awaited.map { route.identifiers[$0] }, operation: nil)
      }
  }

  // MARK: Steps

  /// Goes on with what the inline run has begun; whether that has ended.
  func begin(_ step: InlineStep) -> Bool {
    startedAt = session?.startedAt
    let outcome: StoreOutcome? =
      switch step {
      case .finished: .finished
      case .ended(let outcome): outcome
      case .unfinished(let operation, let isRunning): takeOver(operation, isRunning)
      case .heldBack: nil
      }
    yieldPoint(.startReturned, storeIdentifier)
    return follow(state.withLock { $0.run.startReturned(outcome) })
  }

  private func takeOver(_ operation: AnyObject, _ isRunning: Bool) -> StoreOutcome? {
    var outcome: StoreOutcome?
    dispatch.perform(self) {
      switch isRunning ? entry.takeOver(operation, for: self) : entry.enter(operation, for: self) {
      case .ended(let ended): outcome = ended
      case .waiting: break
      case .ready: entry.run(operation)
      }
    }
    return outcome
  }

  /// Whether it has ended, and its hooks were called.
  private func follow(_ step: StoreRunState.Step) -> Bool {
    switch step {
    case .wait: return false
    case .run: return run()
    case .close(let outcome):
      close(outcome)
      return true
    }
  }

  /// Runs the operation, whose dependencies have finished.
  private func run() -> Bool {
    let operation = state.withLock { $0.run.run() ? $0.run.operation : nil }
    guard let operation else { return false }
    startedAt = now
    dispatch.perform(self) { entry.run(operation) }
    return follow(state.withLock { $0.run.startReturned() })
  }

  private func close(_ outcome: StoreOutcome) {
    if let session {
      dispatch.perform(nil) {
        session.didDispatch(
          outcome, at: index, in: entry.storeForHooks, startedAt: startedAt,
          endedAt: endedAt ?? session.now, reply: session.reply(at: index))
      }
    }
    yieldPoint(.close, storeIdentifier)
    // Released outside the lock: an operation's deinitialization may run the user's code.
    var operation = state.withLock { $0.run.operation.take() }
    entry.release(&operation)
  }

  private func resume(_ step: StoreRunState.Step) {
    if case .wait = step { return }
    scheduler.resume {
      if self.follow(step) { self.dispatch.goOn(after: self) }
    }
  }

  /// Cancels what is under way.
  func cancel() {
    let operation = state.withLock { state in
      state.isCancelled = true
      return state.run.operation
    }
    if let operation { cancel(operation) }
  }

  private func cancel(_ operation: Operation) {
    // One that runs regardless and has not started yet would otherwise never run.
    if !runsRegardless || operation.isExecuting { operation.cancel() }
  }

  // MARK: Reports

  override func started(_ operation: AnyObject) {
    yieldPoint(.started, storeIdentifier)
    let operation = unsafeDowncast(operation, to: Operation.self)
    let isCancelled = state.withLock { state in
      state.run.operation = operation
      return state.isCancelled
    }
    if isCancelled { cancel(operation) }
  }

  override func becameReady() {
    yieldPoint(.becameReady, storeIdentifier)
    resume(state.withLock { $0.run.becameReady() })
  }

  override func operationEnded(_ outcome: StoreOutcome) {
    yieldPoint(.operationEnded, storeIdentifier)
    endedAt = now
    resume(state.withLock { $0.run.operationEnded(outcome) })
  }

  override func beginTaskCommit() -> Bool {
    yieldPoint(.update, storeIdentifier)
    return state.withLock { $0.run.beginTaskCommit() }
  }

  override func endTaskCommit() {
    yieldPoint(.endUpdate, storeIdentifier)
    resume(state.withLock { $0.run.endTaskCommit() })
  }

  override var undeliveredCount: Int { state.withLock { $0.run.undelivered } }

  override func commitDeferred() {
    state.withLock { $0.run.commitDeferred() }
  }

  override func commitDelivered() {
    yieldPoint(.commitDelivered, storeIdentifier)
    resume(state.withLock { $0.run.commitDelivered() })
  }
}
