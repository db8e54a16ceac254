// The steps of a dispatch: called by schedulers, and after a round has closed. Each step runs as far as it can on one
// thread. If it has to wait, another step follows.
extension Dispatch {
  /// Starts the dispatch, called by the scheduler when its turn has come.
  ///
  /// - Parameters:
  ///   - dispatch: The scheduler's only reference.
  ///   - isInTask: Whether this is the task that sends it, if there is one, and it runs here.
  static func start(
    _ dispatch: inout Dispatch, isInTask: Bool = false, on thread: ThreadState
  ) -> InlineEnd {
    if dispatch.beginInline() { return run(&dispatch, on: thread) }
    yieldPoint(.startDispatch, on: thread, dispatch.id.description)
    let details = dispatch.makeDetails()
    switch details.tryStart({ $0.start() }) {
    case .run:
      break
    case .tryGate(let gate):
      guard dispatch.passes(gate) else { return .continues }
    case .park:
      return .continues
    case .skip:
      // A cancelled dispatch ends elsewhere: its position is free.
      return isPlanted(.keptPlace) ? .continues : .ended
    }
    if let task = details.scheduler?.asTask, !isInTask {
      task.start()
      return .continues
    }
    // The task passes a cancellation on only while it waits, and a condition may have cancelled it.
    if isInTask, dispatch.isCancelledWithTask { dispatch.cancel() }
    return run(&dispatch, on: thread)
  }

  static func run(_ dispatch: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    guard dispatch.sequence == nil else { return dispatch.runSequence(on: thread) }
    guard let carried = dispatch.carried else { return runInline(&dispatch, on: thread) }
    return carried.bind { runInline(&dispatch, on: thread) }
  }

  static func runInline(_ dispatch: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    let action = dispatch.takeAction()
    return withAddress(of: action) { address in
      var run = InlineRun(of: dispatch, address, on: thread)
      return withUnsafeMutablePointer(to: &run) { run in
        if dispatch.isSynchronous {
          dispatch.outer =
            dispatch.hasParent ? DispatchContext.enclosing(thread.run, on: thread) : nil
        } else if dispatch.isOfTask {
          dispatch.outer = DispatchContext.ofTask
        } else if thread.isInside, let outer = InlineRun.recorded(thread.run, on: thread) {
          dispatch.outer = outer
        }
        return run.run(&dispatch, on: thread)
      }
    }
  }

  /// Makes the dispatch wait for these dispatches before it runs.
  func wait(for dispatches: [Dispatch]) {
    if dispatches.isEmpty { return }
    makeDetails().withState { $0.wait(for: dispatches) }
    WaitGraph.waits(for: dispatches)
  }

  /// Unparks the dispatch once all of these have ended.
  func resume(after dispatches: [Dispatch]) {
    for dispatch in dispatches {
      dispatch.whenEnded(for: self) {
        yieldPoint(.beforeEnded, self.id.description)
        let parkedAt = self.withScheduler { $0.oneBeforeEnded() ? $1 : nil }
        parkedAt?.unpark(self)
      }
    }
  }

  // MARK: Rounds

  /// Returns the details for a round, whose steps may run on any thread.
  ///
  /// - Parameter task: The caller's task, if the rounds continue there.
  func makeDetails(
    forRoundsOf dispatcher: Dispatcher?, in task: TaskScheduler?, on thread: ThreadState
  ) -> (DispatchDetails, Scheduler) {
    if details != nil { yieldPoint(.continueInRound, on: thread, id.description) }
    let details = makeDetails()
    let present = task ?? details.scheduler
    let scheduler = present ?? (isSynchronous ? SyncLoop(on: thread, of: dispatcher) : queuedAt)
    if task != nil || present == nil { details.scheduler = scheduler }
    details.dispatcher = dispatcher ?? details.dispatcher ?? scheduler.dispatcher
    return (details, scheduler)
  }

  /// Completes the dispatch, or lets it wait until its commits are saved: all stores of a round have ended.
  func roundClosed(_ round: Round) {
    yieldPoint(.closeRound, id.description)
    // The dispatch stays in its round until no deadline can end it, or until it waits to be saved: the round knows how
    // the stores stand.
    if let gate = round.endGate, round.hasStarted { return save(round, gate) }
    if isStep, round.route.endGate != nil, round.hasStarted { whole.sequence?.noteStart() }
    settleDeadline()
    makeDetails().withState { $0.endWork() }
    round.callRemainingHooks()
    let result = round.result
    complete(result, round.session, at: round.scheduler)
  }

  /// Runs the completion, ends the dispatch and releases its scheduler.
  ///
  /// - Parameters:
  ///   - known: The scheduler to release; nil for the dispatch's own one.
  ///   - hasLeft: Whether the dispatch has left its scheduler before, so that there is nothing to release.
  func complete(
    _ result: DispatchResult, _ session: MiddlewareSession? = nil, at known: Scheduler? = nil,
    hasLeft: Bool = false
  ) {
    yieldPoint(.complete, id.description)
    let session = session ?? self.session.take()
    makeDetails().beginEnding()
    let scheduler = known ?? scheduler
    if let details, details.callsAtStoresEnd {
      perform(nil) { details.storesEnded() }
      tellGate { result }
    }
    if let completion = completion.take() { perform(nil) { completion.run(result) } }
    if let session, session.hasWholes {
      perform(nil) { session.dispatchEnded(self.result ?? result, of: .passUnretained(self)) }
      if !session.followers.isEmpty { beginFollowers(after: session, result) }
    }
    yieldBeforeEnd()
    end(result)
    if !hasLeft { scheduler.release(self) }
  }

  /// Begins the followers of the dispatch.
  @inline(never)
  private func beginFollowers(after session: MiddlewareSession, _ result: DispatchResult) {
    let ended = EndedDispatch(session, self.result ?? result, ofStores: result) {
      self.linkToCaller()
      return self.whole.makeDetails()
    }
    perform(nil) { for follower in session.followers { follower.dispatchEnded(ended) } }
  }

  // MARK: User code

  /// Runs user code of a round or a callback, or the completion after it, with the carried values bound.
  ///
  /// - Parameter isLeft: Whether the code is that of observers to which a change was left.
  @discardableResult
  func perform<Value, Failure: Error>(
    _ storeRun: StoreRun?, isLeft: Bool = false, on thread: ThreadState = .current,
    _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try withContext(of: storeRun, isLeft: isLeft, on: thread, or: waitingCaller) {
      () throws(Failure) in try bound(body)
    }
  }

  /// The context of the caller that still waits for the dispatch, if there is one.
  private var waitingCaller: DispatchContext? {
    guard let caller, !hasEnded else { return nil }
    return caller
  }

  /// Runs user code that the dispatch waits for, on any thread.
  ///
  /// Reads no state of the dispatch.
  ///
  /// - Parameter caller: The context that waits for the code, if none on this thread does, as on that of a callback.
  func withContext<Value, Failure: Error>(
    of storeRun: StoreRun?, isLeft: Bool = false, on thread: ThreadState, early: EarlyEnd? = nil,
    or caller: @autoclosure () -> DispatchContext? = nil, _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let outer =
      isPlanted(.formerCaller)
      ? self.outer : DispatchContext.enclosing(thread.run, on: thread) ?? caller()
    let context = CodeContext(self, owner: storeRun, early: early, isLeft: isLeft, outer: outer)
    return try thread.within(context, body)
  }
}
