/// A dispatch that does not run straight: round after round, each with parts that others may go on with.
extension Dispatch {
  private var course: DispatchDetails { details.unsafelyUnwrapped }

  // MARK: Before the scheduler

  /// Takes the snapshot, orders the stores and tells the middlewares, on the dispatching thread.
  ///
  /// Each action of a sequence has its own turn for that.
  func prepare() {
    guard case .one(let action)? = course.request?.actions else { return }
    course.plan = makePlan(action, transaction: id)
  }

  private func makePlan(_ action: any ActionType, transaction: TransactionID) -> DispatchPlan {
    let plan = DispatchPlan(
      action, for: course.request?.storeIdentifier, of: self, by: course.dispatcher!,
      transaction: transaction)
    if case .round(let round) = plan { round.tellMiddlewares() }
    return plan
  }

  /// Calls back when each of the dispatches before it has ended.
  func await(_ dispatches: [Dispatch]) {
    for dispatch in dispatches {
      dispatch.whenEnded {
        yieldPoint(.beforeEnded, self.id.description)
        if self.course.withState({ $0.oneBeforeEnded() }) { self.scheduler.unpark(self) }
      }
    }
  }

  // MARK: At the scheduler

  /// The scheduler has come to it: runs as far as it can.
  ///
  /// - Parameter dispatch: To which the caller has the only reference, but for those of handles.
  static func start(_ dispatch: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    if dispatch.beginStraight() { return runTaken(&dispatch, on: thread) }
    yieldPoint(.startDispatch, on: thread, dispatch.id.description)
    switch dispatch.course.withState({ $0.reach() }) {
    case .run where dispatch.course.request == nil:
      return runTaken(&dispatch, on: thread)
    case .run:
      dispatch.goOn()
    case .park:
      break
    case .skip:
      if !isPlanted(.keptPlace) { dispatch.scheduler.release(dispatch) }
    }
    return .goesOn
  }

  /// Runs straight with its own action, taken out of it.
  @inline(__always)
  private static func runTaken(_ dispatch: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    let action = dispatch.takeAction()
    return withAddress(of: action) { address in
      // Before a run, nothing else is around it.
      dispatch.around == nil
        ? runStraight(&dispatch, at: address, on: thread)
        : runHeard(&dispatch, at: address, on: thread)
    }
  }

  /// The round that runs has closed.
  func roundClosed() {
    takeResult()
    if isBetweenActions, scheduler.isSuspended { pause() } else { goOn() }
  }

  /// Runs round after round, until one is left to others or none is left.
  private func goOn() {
    while let round = nextRound() {
      guard round.begin() else { return }
      takeResult()
      if isBetweenActions, scheduler.isSuspended { return pause() }
    }
    end()
  }

  /// Goes on with a round where a straight run has left.
  func begin(_ round: Round, after left: Left) {
    guard round.begin(at: left.place, after: left.step) else { return }
    takeResult()
    goOn()
  }

  private var severalActions: [any ActionType]? {
    guard case .several(let actions)? = course.request?.actions else { return nil }
    return actions
  }

  private var isBetweenActions: Bool {
    severalActions.map { course.results.count < $0.count } ?? false
  }

  /// A suspended queue stops a sequence between two actions; its lane stays held.
  private func pause() {
    course.withState { $0.pause() }
    scheduler.unpark(self)
  }

  private func nextRound() -> Round? {
    while let plan = takePlan() {
      switch plan {
      case .failed(let result):
        course.results.append(result)
      case .round(let round):
        yieldPoint(.beginRound, id.description)
        // A cancellation between two rounds has found neither of them.
        if course.withState({ $0.begin(round) }) { round.cancel() }
        return round
      }
    }
    return nil
  }

  private func takePlan() -> DispatchPlan? {
    if let plan = course.plan.take() { return plan }
    guard let request = course.request, case .several(let actions) = request.actions,
      course.results.count < actions.count
    else { return nil }
    if isCancelled { return nil }
    if !request.options.continuesOnFailure, course.results.last?.isSuccess == false { return nil }
    return makePlan(actions[course.results.count], transaction: .make(on: .current))
  }

  private func takeResult() {
    yieldPoint(.closeRound, id.description)
    if let round = course.withState({ $0.takeRound() }) { take(round) }
  }

  private func take(_ round: Round) {
    course.results.append(round.result)
    round.dissolve()
  }

  // MARK: The end

  private func end() {
    yieldPoint(.complete, id.description)
    course.withState { $0.beginEnding() }
    let result = collectResults()
    let scheduler = self.scheduler
    complete(result)
    scheduler.release(self)
  }

  /// Runs the completion, then lets those go on who wait for the end.
  private func complete(_ result: DispatchResult) {
    if let completion = takeCompletion() {
      perform(id, part: nil) { completion.run { result } }
    }
    for witness in course.witnesses { witness.dispatchEnded(id, result) }
    // A handle may be kept for long: what only the way here needed goes before anybody goes on.
    clear()
    course.clear()
    yieldPoint(.notifyWaiters, id.description)
    course.tellWaiters(result)
  }

  private func collectResults() -> DispatchResult {
    guard let actions = severalActions else { return course.results[0] }
    let results = course.results
    let isCancelled = isCancelled && results.count < actions.count
    return DispatchResult(
      transaction: id, steps: results,
      skippedActionCount: actions.count - results.count,
      error: results.lazy.compactMap(\.error).first ?? (isCancelled ? CancellationError() : nil))
  }

  /// Ends the dispatch, whose actions never ran; the middlewares that heard of it hear of the end.
  private func endWaiting(_ wasReached: Bool) {
    let scheduler = self.scheduler
    switch course.plan.take() {
    case .failed(let result):
      course.results.append(result)
    case .round(let round):
      round.cancel()
      _ = round.begin()
      take(round)
    case nil where hearing != nil:
      take(makeCancelledRound(course))
    case nil where course.request == nil:
      let count = responders.unsafelyUnwrapped.takeUnretainedValue().entries.count
      course.results.append(makeResult(Array(repeating: .cancelled, count: count)))
    case nil:
      break
    }
    complete(collectResults())
    if wasReached { scheduler.resume { scheduler.release(self) } }
  }

  /// Ends a dispatch that can't run at all, as the result says.
  func fail(with error: DispatchError) {
    course.withState { $0.beginEnding() }
    complete(DispatchResult(transaction: id, error: error))
  }

  func cancel() {
    let details = involve()
    yieldPoint(.cancel, id.description)
    switch details.withState({ $0.cancel() }) {
    case .end(let wasReached):
      scheduler.endCancelled(self) { self.endWaiting(wasReached) }
    case .round(let round):
      round.cancel()
    case .none:
      break
    }
  }

  // MARK: User code

  /// Runs user code as caused by a transaction of this dispatch.
  func perform(_ transaction: TransactionID, part: StoreRun?, _ body: () -> Void) {
    let thread = ThreadState.current
    let (outer, light) = (thread.context, thread.putLightAside())
    thread.context = StoreRunContext(
      self, transaction: transaction, owner: part, outer: outer ?? details?.outer)
    defer {
      thread.context = outer
      thread.light = light
    }
    if let taskLocals = details?.taskLocals, !taskLocals.isEmpty {
      taskLocals.bind(body)
    } else {
      body()
    }
  }

  func transaction(_ id: TransactionID) -> MiddlewareContext {
    transaction(id, by: course.dispatcher!, in: course.mode)
  }

  func transaction(
    _ id: TransactionID, by dispatcher: Dispatcher, in mode: Dispatcher.Mode
  ) -> MiddlewareContext {
    MiddlewareContext(
      id: id, dispatcher: dispatcher, parent: id == self.id ? parent : self.id, mode: mode,
      callSite: callSite)
  }
}
