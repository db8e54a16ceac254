import Foundation

/// A store run by itself, where an inline run has stopped and all other stores wait for this one: an inline run goes on
/// after it.
///
/// Its steps run at the dispatch's scheduler; its operation and its store report to it on any thread, and it makes a
/// step of what they report. Where the dispatch runs in its caller's task, so does the operation's block, without steps.
@usableFromInline
final class SoloStoreRun: StoreRun, @unchecked Sendable {
  // because what is not locked is constant from `begin` until it is used again, by the only reference to it
  /// The action as dispatched.
  @exclusivity(unchecked) private(set) var dispatched: any ActionType = NoAction()
  @exclusivity(unchecked) private(set) var session: MiddlewareSession?
  @exclusivity(unchecked) private var ofRoute: Route!
  /// How the stores before it ended, by store index; empty where all finished.
  @exclusivity(unchecked) private var earlier: [StoreOutcome] = []
  @exclusivity(unchecked) private var ofDispatch: Dispatch!
  @exclusivity(unchecked) private var steps: Scheduler!
  /// Of its last block, to be used again.
  @exclusivity(unchecked) var spareContext: TaskContext?
  let state = Locked(State())

  struct State {
    var run = StoreRunState()
    var isCancelled = false
    /// Whether the task that runs the block takes up what follows it.
    var isAwaited = false
    /// What that is.
    var next: StoreRunState.Step?

    mutating func reset() {
      run.reset()
      (isCancelled, isAwaited, next) = (false, false, nil)
    }
  }

  /// What a spare one has.
  private struct NoAction: ActionType {}

  /// Makes one, or uses the thread's spare one.
  static func make(
    of dispatch: Dispatch, at scheduler: Scheduler, _ action: any ActionType, to route: Route,
    _ session: MiddlewareSession?, index: Int, after earlier: [StoreOutcome],
    on thread: ThreadState
  ) -> SoloStoreRun {
    let storeRun = thread.takeSpareStoreRun() ?? SoloStoreRun()
    storeRun.begin(
      route.entries[index], at: index, session?.action(at: index) ?? action, in: dispatch.id)
    storeRun.ofDispatch = dispatch
    storeRun.steps = scheduler
    storeRun.dispatched = action
    storeRun.ofRoute = route
    if let session { storeRun.session = session }
    if !earlier.isEmpty { storeRun.earlier = earlier }
    return storeRun
  }

  /// Keeps one that has ended as the thread's spare one, where nothing else refers to it.
  ///
  /// From then on it refers to no dispatch.
  static func recycle(_ storeRun: inout SoloStoreRun?, on thread: ThreadState) {
    guard isUniquelyReferencedForReuse(&storeRun), let spare = storeRun.take(),
      hasNoWeakOrUnownedReferences(spare)
    else { return }
    spare.clear()
    thread.keepSpare(spare)
  }

  private func clear() {
    end()
    (ofDispatch, steps, ofRoute) = (nil, nil, nil)
    dispatched = NoAction()
    if session != nil { session = nil }
    if !earlier.isEmpty { earlier = [] }
    state.withLock { $0.reset() }
  }

  var route: Route { ofRoute }
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

  /// What an inline run goes on with, once it has ended.
  struct Rest: ~Copyable {
    let action: any ActionType
    let session: MiddlewareSession?
    let identifiers: [String]
    let outcomes: [StoreOutcome]
    let position: Int
  }

  var rest: Rest {
    Rest(
      action: dispatched, session: session, identifiers: route.identifiers, outcomes: outcomes,
      position: index + 1)
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
    let outcome: StoreOutcome?
    switch step {
    case .finished: outcome = .finished
    case .ended(let ended): outcome = ended
    case .unfinished(let operation): outcome = takeOver(operation, isRunning: false)
    case .running(let operation): outcome = takeOver(operation, isRunning: true)
    case .heldBack: outcome = nil
    }
    yieldPoint(.startReturned, storeIdentifier)
    return follow(state.withLock { $0.run.startReturned(outcome) })
  }

  private func takeOver(_ operation: AnyObject, isRunning: Bool) -> StoreOutcome? {
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
  func follow(_ step: StoreRunState.Step) -> Bool {
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
    let step = state.withLock { state in
      let step = state.run.operationEnded(outcome)
      guard state.isAwaited else { return step }
      state.next = step
      return .wait
    }
    resume(step)
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
