// The steps of a dispatch: called by schedulers, and after a round has closed. Each step runs as far as it can on one
// thread. If it has to wait, another step follows.
extension Dispatch {
  /// Starts the dispatch, called by the scheduler when its turn has come.
  ///
  /// - Parameter dispatch: The scheduler's only reference.
  static func start(_ dispatch: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    if dispatch.beginInline() { return run(&dispatch, on: thread) }
    yieldPoint(.startDispatch, on: thread, dispatch.id.description)
    let details = dispatch.makeDetails()
    switch details.withState({ $0.start() }) {
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
    guard let task = details.scheduler?.asTask else { return run(&dispatch, on: thread) }
    task.start()
    return .continues
  }

  static func run(_ dispatch: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    guard dispatch.isAction else { return dispatch.runSequence(on: thread) }
    guard let carried = dispatch.carried else { return runInline(&dispatch, on: thread) }
    return carried.bind { runInline(&dispatch, on: thread) }
  }

  static func runInline(_ dispatch: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    let action = dispatch.takeAction()
    return withAddress(of: action) { address in
      var run = InlineRun(of: dispatch, address, on: thread)
      return withUnsafeMutablePointer(to: &run) { run in
        if dispatch.isSynchronous {
          dispatch.keep(outer: DispatchContext.around(dispatch.parent, thread.run, on: thread))
        } else if dispatch.isOfTask {
          dispatch.keep(outer: DispatchContext.ofTask)
        } else if thread.isInside, let outer = InlineRun.recorded(thread.run, on: thread) {
          dispatch.keep(outer: outer)
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
        let parkedAt = self.makeDetails().withScheduler(queuedAt: { self.queuedAt }) {
          $0.oneBeforeEnded() ? $1 : nil
        }
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

  /// Continues with a round after an inline run has stopped.
  func continueIn(_ round: Round, after remainder: InlineRemainder, _ begun: StoreRun?) {
    yieldPoint(.beginRound, id.description)
    if round.begin(after: remainder, begun) { roundClosed(round) }
  }

  /// Completes the dispatch, or lets it wait until its commits are saved: all stores of a round have ended.
  func roundClosed(_ round: Round) {
    yieldPoint(.closeRound, id.description)
    // The dispatch stays in its round until no deadline can end it, or until it waits to be saved: the round knows how
    // the stores stand.
    if let gate = round.endGate, round.hasStarted { return save(round, gate) }
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
    let session = session ?? sequence?.session
    makeDetails().beginEnding()
    let scheduler = known ?? scheduler
    if let details, details.callsAtStoresEnd {
      perform(nil) { details.storesEnded() }
      tellGate { result }
    }
    if let completion = completion.take() { perform(nil) { completion.run(result) } }
    if let session, session.hasWholes {
      perform(nil) { session.dispatchEnded(self.result ?? result) }
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

  // MARK: Cancellation

  func cancel() {
    cancel { $0.cancel() }
  }

  /// Ends the dispatch with an error if it has not started; returns false if it has started or ended.
  @discardableResult
  func drop(with error: DispatchError) -> Bool {
    var isDropped = false
    cancel { state in
      isDropped = state.isDroppable
      return isDropped ? state.skip(error) : .none
    }
    return isDropped
  }

  /// Applies a pending cancellation once the scheduler has the dispatch.
  ///
  /// Refuses it if a dispatch that already waits for it closes a deadlock cycle.
  func accepted(isInLane: Bool) {
    // An early waiter could not see what the dispatch would wait behind.
    let mayWait = (isInLane || isHeldBack || isGated) && !isPlanted(.lateRing)
    endAcceptance(refusing: mayWait ? WaitGraph.ring(around: self)?.error : nil)
  }

  /// Applies a cancellation or refusal that came after the dispatch was announced and before its scheduler had it.
  func endAcceptance(refusing error: DispatchError? = nil) {
    cancel { $0.endAcceptance(refusing: error) }
  }

  func cancel(_ transition: (inout DispatchState) -> DispatchState.Cancel) {
    if cancelAlone(transition) { cancelChildren() }
  }

  /// Cancels this dispatch alone; returns whether the caller is to cancel the dispatches that its blocks made.
  func cancelAlone(_ transition: (inout DispatchState) -> DispatchState.Cancel) -> Bool {
    let details = makeDetails()
    yieldPoint(.cancel, id.description)
    let (cancel, scheduler) = details.withScheduler(queuedAt: { queuedAt }) { life, scheduler in
      (transition(&life), scheduler)
    }
    switch cancel {
    case .end(_, wasDelayed: true):
      // A dispatch that was refused or has timed out has failed: its companions learn that when it ends.
      if details.withState({ $0.refusal.map { $0.code == .skipped } ?? true }) {
        for companion in details.companions { companion.cancelledBeforeItsTime() }
      }
      scheduler?.endCancelled { self.endDelayed() }
    case .end(let wasParked, _):
      scheduler?.endCancelled {
        self.endWaiting(wasParked, at: scheduler!, on: .current)
      }
    case .cancel(let work):
      cancelWork(work)
    case .endEarly(let early, let work):
      // Stop further starts before the result says which stores have started.
      if case .round(let round) = work { round.startNoMore() }
      endEarly(early)
      cancelWork(work)
    case .goOn:
      scheduler?.endCancelled { self.endPaused(at: scheduler!) }
    case .endUnsaved(let end):
      end.resumeEarly()
      return false
    case .none:
      return false
    }
    return true
  }

  /// Cancels its work, for the same reason as the dispatch itself.
  func cancelWork(_ work: DispatchWork) {
    switch work {
    case .none: break
    case .round(let round): round.cancel()
    case .step(let step):
      if let error = refusal, error.code == .timedOut {
        step.timeOut(error.timeLimit ?? .zero)
      } else {
        step.cancel()
      }
    }
  }

  /// Ends a dispatch that was cancelled while it waited: each store's part ends as cancelled.
  private func endWaiting(
    _ wasParked: Bool, at scheduler: Scheduler, on thread: ThreadState
  ) {
    leaveScheduler()
    if let sequence {
      complete(sequence.result(of: id, cutBy: CancellationError(), refusal: refusal))
    } else {
      var dispatch = self
      _ = bound { Self.runInline(&dispatch, on: thread) }
    }
    if wasParked { scheduler.releaseParked(self) } else { scheduler.noteSkipped() }
  }

  /// Ends a dispatch that was cancelled before it began.
  ///
  /// No hook was called, and none will be.
  private func endDelayed() {
    leaveScheduler()
    complete(resultBeforeStart(refusal ?? CancellationError()))
  }

  /// Returns the result of a dispatch that never reaches its stores.
  func resultBeforeStart(_ error: any Error) -> DispatchResult {
    if let recorded = error as? RecordedResult { return recorded.result }
    let identifiers = route?._withUnsafeGuaranteedRef(\.identifiers) ?? []
    return DispatchResult(
      dispatchID: id, identifiers: identifiers,
      outcomes: identifiers.map { _ in .cancelled(hasStarted: false) }, error: error)
  }

  /// Ends the dispatch at its deadline, on a thread of the library, while its stores continue.
  ///
  /// From here on this must not read the record's state, which belongs to the step that runs the stores.
  private func endEarly(_ early: EarlyEnd) {
    let details = makeDetails()
    let end: @Sendable () -> Void = {
      yieldPoint(.complete, self.id.description)
      defer { (early.generation, early.dispatcher) = (nil, nil) }
      guard let result = details.earlyResult(of: self.id) else { return }
      self.tellGate { result }
      if let completion = details.withState({ _ in early.completion.take() }) {
        self.withContext(of: nil, on: .current, early: early) {
          if let carried = early.carried {
            carried.bind { completion.run(result) }
          } else {
            completion.run(result)
          }
        }
      }
      details.endEarly(result)
    }
    early.dispatcher?.pool.submit(end: .step(end))
  }

  /// Ends a dispatch that can't run at all.
  func fail(with error: DispatchError) {
    complete(DispatchResult(dispatchID: id, error: error), takeSession())
  }

  // MARK: User code

  /// Runs user code of a round or a callback, or the completion after it, with the carried values bound.
  @discardableResult
  func perform<Value, Failure: Error>(
    _ storeRun: StoreRun?, on thread: ThreadState = .current, _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try withContext(of: storeRun, on: thread) { () throws(Failure) in try bound(body) }
  }

  /// Runs user code that the dispatch waits for, on any thread.
  ///
  /// Reads no state of the dispatch.
  func withContext<Value, Failure: Error>(
    of storeRun: StoreRun?, on thread: ThreadState, early: EarlyEnd? = nil,
    _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let outer =
      isPlanted(.formerCaller) ? self.outer : DispatchContext.enclosing(thread.run, on: thread)
    return try thread.within(CodeContext(self, owner: storeRun, early: early, outer: outer), body)
  }

  // MARK: The end of its time

  /// Called when the deadline has passed.
  func timerFired() {
    if let limit = details?.withState(\.limit) { timeOut(limit.deadline.duration) }
  }

  /// Times the dispatch out after this duration, unless it has ended.
  func timeOut(_ duration: Duration) {
    if timeOutAlone(duration) { cancelChildren() }
  }

  /// Times out this dispatch alone; returns whether the caller is to cancel the dispatches that its blocks made.
  func timeOutAlone(_ duration: Duration) -> Bool {
    yieldPoint(.timeOut, id.description)
    let error = DispatchError.timedOut(callSite, after: duration, waitingFor: gateDescription)
    var dispatcher: Dispatcher?
    let isCancelled = cancelAlone { state in
      let cancel = state.timeOut(error)
      switch cancel {
      case .endEarly(let early, _): early.claim(self)
      case .cancel: dispatcher = state.dispatcherToTellGate
      case .end, .goOn, .endUnsaved, .none: break
      }
      return cancel
    }
    // The caller waits for the stores, which may go on for ever; what the gate protects need not.
    dispatcher?.pool.submit(end: .step { self.tellGateOfTimeout(error) })
    return isCancelled
  }

  /// Tells the gate of a timeout, if a store has begun by then; if none has, the end is not far.
  ///
  /// The end tells it again, so that the completion never comes first.
  private func tellGateOfTimeout(_ error: DispatchError) {
    let (gate, work, hasStarted) = makeDetails().withState {
      ($0.toldGate, $0.work, $0.limit?.hasStarted == true)
    }
    let hasBegun =
      switch work {
      case .none: hasStarted
      case .round(let round): round.hasStarted
      case .step: true
      }
    if hasBegun { gate?.ended(self, DispatchResult(dispatchID: id, error: error)) }
  }
}
