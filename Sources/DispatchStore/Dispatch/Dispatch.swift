/// One call of `dispatch`: one action, or several in sequence, on their way to a result.
///
/// It runs in steps at its venue: a lane, the pool, the main queue or the caller's thread. Everything
/// that is not constant or in `state` belongs to the step that runs.
final class Dispatch: @unchecked Sendable {
  let id: TransactionID
  let parent: TransactionID?
  /// Until the end.
  private(set) var dispatcher: Dispatcher!
  let mode: Dispatcher.Mode
  let callSite: CallSite
  /// The context that a `.sync` dispatch holds up, until the end.
  private(set) var outer: DispatchContext?
  /// Guarded by the wait graph: the dispatches that this one waits for while it runs.
  var waits: [Dispatch] = []
  let venue: any Venue
  private var request: DispatchRequest
  private var taskLocals: [CapturedTaskLocal]
  private let state: Locked<DispatchState>
  private var plan: DispatchPlan?
  private var results: [DispatchResult] = []

  init(
    _ request: DispatchRequest, by dispatcher: Dispatcher, at venue: any Venue,
    on thread: ThreadState, outer: DispatchContext?
  ) {
    id = .make(on: thread)
    parent = DispatchContext.current(on: thread)?.transaction
    mode = request.mode
    callSite = request.callSite
    taskLocals = dispatcher.carriedTaskLocals.map { $0.capture() }
    state = Locked(DispatchState(before: request.options.after.map(\.dispatch)))
    self.dispatcher = dispatcher
    self.venue = venue
    self.request = request
    self.outer = outer
  }

  var result: DispatchResult? { state.withLock { $0.result } }

  /// The dispatches before it, while it waits for them.
  var dispatchesBefore: [Dispatch] {
    state.withLock { $0.before }
  }

  /// Whether it has no action.
  var isEmpty: Bool { request.actions.isEmpty }

  /// Whether it runs, or waits to: it still needs its venue.
  var needsVenue: Bool { state.withLock { $0.needsVenue } }

  /// Whether it waits for other dispatches.
  var isHeldBack: Bool { !dispatchesBefore.isEmpty }

  /// Whether a `.sync` caller need not stay: others only have to tell what was left to them.
  var onlyTellingIsLeft: Bool { state.withLock { $0.round }?.onlyTellingIsLeft == true }

  // MARK: Before the venue

  /// Takes the snapshot, orders the stores and tells the middlewares, on the dispatching thread.
  ///
  /// Each action of a sequence has its own turn for that.
  func prepare() {
    guard case .one(let action) = request.actions else { return }
    plan = makePlan(action, transaction: id)
  }

  private func makePlan(_ action: any ActionType, transaction: TransactionID) -> DispatchPlan {
    let plan = DispatchPlan(
      action, for: request.storeIdentifier, of: self, transaction: transaction)
    if case .round(let round) = plan { round.tellMiddlewares() }
    return plan
  }

  /// Calls back when each of the dispatches before it has ended.
  func await(_ handles: [DispatchHandle]) {
    for handle in handles {
      handle.dispatch.whenEnded {
        if self.state.withLock({ $0.oneBeforeEnded() }) { self.venue.resume(self) }
      }
    }
  }

  // MARK: At the venue

  /// The venue has come to it: runs as far as it can.
  func reach() {
    switch state.withLock({ $0.reach() }) {
    case .run: goOn()
    case .park: break
    case .skip: venue.release(self)
    }
  }

  /// The round that runs has closed.
  func roundClosed() {
    takeResult()
    if isBetweenActions, venue.isSuspended { pause() } else { goOn() }
  }

  /// Runs round after round, until one is left to others or none is left.
  private func goOn() {
    while let round = nextRound() {
      guard round.begin() else { return }
      takeResult()
      if isBetweenActions, venue.isSuspended { return pause() }
    }
    end()
  }

  private var isBetweenActions: Bool {
    guard case .several(let actions) = request.actions else { return false }
    return results.count < actions.count
  }

  /// A suspended queue stops a sequence between two actions; its lane stays held.
  private func pause() {
    state.withLock { $0.pause() }
    venue.resume(self)
  }

  private func nextRound() -> Round? {
    while let plan = takePlan() {
      switch plan {
      case .failed(let result):
        results.append(result)
      case .round(let round):
        // A cancellation between two rounds has found neither of them.
        if state.withLock({ $0.begin(round) }) { round.cancel() }
        return round
      }
    }
    return nil
  }

  private func takePlan() -> DispatchPlan? {
    if let plan = plan.take() { return plan }
    guard case .several(let actions) = request.actions, results.count < actions.count else {
      return nil
    }
    if state.withLock({ $0.isCancelled }) { return nil }
    if !request.options.continuesOnFailure, results.last?.isSuccess == false { return nil }
    return makePlan(actions[results.count], transaction: .make(on: .current))
  }

  private func takeResult() {
    if let round = state.withLock({ $0.takeRound() }) { take(round) }
  }

  private func take(_ round: Round) {
    results.append(round.result)
    round.dissolve()
  }

  // MARK: The end

  private func end() {
    state.withLock { $0.beginEnding() }
    let result = collectResults()
    complete(result)
    venue.release(self)
  }

  /// Runs the completion, then lets those go on who wait for the end.
  private func complete(_ result: DispatchResult) {
    if let completion = request.completion {
      perform(id, part: nil) { completion.run(result) }
    }
    // A handle may be kept for long: what only the way here needed goes before anybody goes on.
    request = request.spent
    (results, taskLocals, outer, dispatcher) = ([], [], nil, nil)
    for waiter in state.withLock({ $0.end(result) }) { waiter() }
  }

  private func collectResults() -> DispatchResult {
    guard case .several(let actions) = request.actions else { return results[0] }
    let isCancelled = state.withLock { $0.isCancelled } && results.count < actions.count
    return DispatchResult(
      transaction: id, stores: results.flatMap(\.stores), steps: results,
      skippedActionCount: actions.count - results.count,
      error: results.lazy.compactMap(\.error).first ?? (isCancelled ? CancellationError() : nil))
  }

  /// Ends the dispatch, whose actions never ran; the middlewares that heard of it hear of the end.
  private func endWaiting(_ wasReached: Bool) {
    if let plan = plan.take() {
      switch plan {
      case .failed(let result):
        results.append(result)
      case .round(let round):
        round.cancel()
        _ = round.begin()
        take(round)
      }
    }
    complete(collectResults())
    if wasReached { venue.post { self.venue.release(self) } }
  }

  /// Ends a dispatch that can't run at all, as the result says.
  func fail(with error: DispatchError) {
    state.withLock { $0.beginEnding() }
    complete(DispatchResult(transaction: id, error: error))
  }

  func cancel() {
    switch state.withLock({ $0.cancel() }) {
    case .end(let wasReached):
      venue.endCancelled(self) { self.endWaiting(wasReached) }
    case .round(let round):
      round.cancel()
    case .none:
      break
    }
  }

  /// Calls back once the dispatch has ended: at once where it has, else from the thread that ends it.
  func whenEnded(_ waiter: @escaping @Sendable () -> Void) {
    if !state.withLock({ $0.wait(waiter) }) { waiter() }
  }

  // MARK: User code

  /// Runs user code as caused by a transaction of this dispatch.
  func perform(_ transaction: TransactionID, part: Part?, _ body: () -> Void) {
    let thread = ThreadState.current
    let outer = thread.context
    thread.context = DispatchContext(
      self, transaction: transaction, part: part, outer: outer ?? self.outer)
    defer { thread.context = outer }
    if taskLocals.isEmpty { body() } else { taskLocals.bind(body) }
  }

  func transaction(_ id: TransactionID) -> DispatchTransaction {
    DispatchTransaction(
      id: id, dispatcher: dispatcher, parent: id == self.id ? parent : self.id, mode: mode,
      callSite: callSite)
  }
}
