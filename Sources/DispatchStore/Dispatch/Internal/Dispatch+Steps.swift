// What schedulers call, and what follows when a round has closed: the steps of a dispatch. Each runs as far
// as it can on one thread; where it has to wait, another step follows.
extension Dispatch {
  /// The scheduler starts it, in its turn.
  ///
  /// - Parameter dispatch: The scheduler's only reference.
  static func start(_ dispatch: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    if dispatch.beginInline() { return run(&dispatch, on: thread) }
    yieldPoint(.startDispatch, on: thread, dispatch.id.description)
    let details = dispatch.makeDetails()
    switch details.withState({ $0.start() }) {
    case .run where dispatch.isOfTask:
      (details.scheduler as? TaskScheduler)?.start()
    case .run:
      return run(&dispatch, on: thread)
    case .park:
      break
    case .skip:
      // It was cancelled, and ends elsewhere: its place is free.
      return isPlanted(.keptPlace) ? .continues : .ended
    }
    return .continues
  }

  private static func run(_ dispatch: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    guard dispatch.isAction else { return runSequence(&dispatch, on: thread) }
    guard let carried = dispatch.carried else { return runInline(&dispatch, on: thread) }
    return carried.bind { runInline(&dispatch, on: thread) }
  }

  static func runInline(_ dispatch: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    let action = dispatch.takeAction()
    return withAddress(of: action) { address in
      return InlineRun.withMemory { run in
        run.initialize(to: InlineRun(of: dispatch, address, on: thread))
        if dispatch.isSynchronous {
          dispatch.keep(outer: DispatchContext.around(dispatch.parent, thread.run, on: thread))
        } else if dispatch.isOfTask {
          dispatch.keep(outer: DispatchContext.ofTask)
        } else if let outer = InlineRun.recorded(on: thread) {
          dispatch.keep(outer: outer)
        }
        return run.run(&dispatch, on: thread)
      }
    }
  }

  /// It is not to run before these have ended.
  func wait(for dispatches: [Dispatch]) {
    if !dispatches.isEmpty { makeDetails().withState { $0.wait(for: dispatches) } }
  }

  /// Unparks it once each of these has ended.
  func resume(after dispatches: [Dispatch]) {
    for dispatch in dispatches {
      dispatch.whenEnded {
        yieldPoint(.beforeEnded, self.id.description)
        let parkedAt = self.makeDetails().withScheduler(queuedAt: { self.queuedAt }) {
          $0.oneBeforeEnded() ? $1 : nil
        }
        parkedAt?.unpark(self)
      }
    }
  }

  // MARK: Rounds

  /// The details for a round, whose steps may run on any thread.
  func makeDetails(
    forRoundsOf dispatcher: Dispatcher?, on thread: ThreadState
  ) -> DispatchDetails {
    if details != nil { yieldPoint(.continueInRound, on: thread, id.description) }
    let details = makeDetails()
    if details.scheduler == nil {
      details.scheduler = isSynchronous ? SyncLoop.make(on: thread) : queuedAt
      if isSynchronous, !isCarrying { carry(dispatcher?.captureTaskLocals()) }
    }
    details.dispatcher = dispatcher ?? details.dispatcher ?? scheduler.dispatcher
    return details
  }

  /// Goes on with a round where an inline run has stopped.
  func begin(_ round: Round, after remainder: InlineRemainder) {
    yieldPoint(.beginRound, id.description)
    if round.begin(after: remainder) { roundClosed(round) }
  }

  /// All stores of a round have ended: the last step.
  func roundClosed(_ round: Round) {
    yieldPoint(.closeRound, id.description)
    makeDetails().withState { $0.endWork() }
    let result = round.result
    complete(result, round.session)
    round.dissolve()
  }

  /// Runs the completion, ends the dispatch and releases its scheduler.
  func complete(_ result: DispatchResult, _ session: MiddlewareSession? = nil) {
    yieldPoint(.complete, id.description)
    makeDetails().withState { $0.beginEnding() }
    let scheduler = scheduler
    if let completion = takeCompletion() { perform(nil) { completion.run(result) } }
    session?.dispatchEnded(result)
    sequence?.dispatchEnded(self, result)
    yieldBeforeEnd()
    end(result)
    scheduler.release(self)
  }

  // MARK: Cancellation

  func cancel() {
    cancel { $0.cancel() }
  }

  /// Ends it where it waits: it would do so for ever.
  func refuse(with error: DispatchError) {
    endAcceptance(refusing: error)
  }

  /// It was made inside an exclusive section, and its scheduler has it now; a cancellation that came
  /// meanwhile takes effect, as does its refusal.
  func endAcceptance(refusing error: DispatchError?) {
    cancel { $0.endAcceptance(refusing: error) }
  }

  private func cancel(_ transition: (inout DispatchState) -> DispatchState.Cancel) {
    let details = makeDetails()
    yieldPoint(.cancel, id.description)
    let (cancel, scheduler) = details.withScheduler(queuedAt: { queuedAt }) { life, scheduler in
      (transition(&life), scheduler)
    }
    switch cancel {
    case .end(let wasParked):
      scheduler?.endCancelled(self) {
        self.endWaiting(wasParked, at: scheduler!, on: .current)
      }
    case .cancel(let work):
      work.cancel()
    case .none:
      break
    }
  }

  /// Ends a dispatch that was cancelled while it waited: each store's part ends as cancelled.
  private func endWaiting(
    _ wasParked: Bool, at scheduler: Scheduler, on thread: ThreadState
  ) {
    leaveScheduler()
    let details = makeDetails()
    if let sequence {
      complete(sequence.result(of: id, cutBy: details.withState(\.refusal) ?? CancellationError()))
    } else {
      var dispatch = self
      _ = bound { Self.runInline(&dispatch, on: thread) }
    }
    if wasParked { scheduler.resume { scheduler.release(self) } }
  }

  /// Ends a dispatch that can't run at all.
  func fail(with error: DispatchError) {
    complete(DispatchResult(transaction: id, error: error), takeSession())
  }

  // MARK: User code

  /// Runs user code of a round, or the completion after it.
  func perform(_ storeRun: StoreRun?, _ body: () -> Void) {
    withContext(of: storeRun, on: .current) { bound(body) }
  }

  /// Runs user code for which the dispatch waits, on any thread: no state of the dispatch is read.
  func withContext<Value, Failure: Error>(
    of storeRun: StoreRun?, on thread: ThreadState, _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let (context, run) = (thread.context, thread.run)
    thread.context = StoreRunContext(
      self, owner: storeRun,
      outer: isPlanted(.formerCaller) ? outer : DispatchContext.enclosing(run, on: thread))
    thread.run = nil
    defer { (thread.context, thread.run) = (context, run) }
    return try body()
  }
}
