// The ends that come before the stores': a cancellation, a refusal, a deadline.
extension Dispatch {
  func cancel() {
    cancel { $0.cancel() }
  }

  /// Ends the dispatch with an error if it has not started; returns false if it has started or ended.
  @discardableResult
  func drop(with error: DispatchError) -> Bool {
    guard let decision = decideDrop(with: error) else { return false }
    cancel(decision)
    return true
  }

  func decideDrop(with error: DispatchError) -> CancelDecision? {
    var isDropped = false
    let decision = decide { state in
      isDropped = state.isDroppable
      return state.skip(error)
    }
    return isDropped ? decision : nil
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
    cancel(decide(transition))
  }

  func cancel(_ decision: CancelDecision) {
    if cancelAlone(decision) { cancelChildren() }
  }

  /// A decision to cancel a dispatch, with the scheduler that it had.
  typealias CancelDecision = (cancel: DispatchState.Cancel, scheduler: Scheduler?)

  /// Decides how to cancel the dispatch, and runs no code of the program.
  func decide(_ transition: (inout DispatchState) -> DispatchState.Cancel) -> CancelDecision {
    yieldPoint(.cancel, id.description)
    return withScheduler { (transition(&$0), $1) }
  }

  /// Cancels this dispatch alone; returns whether the caller is to cancel the dispatches that its blocks made.
  func cancelAlone(_ decision: CancelDecision) -> Bool {
    let scheduler = decision.scheduler
    switch decision.cancel {
    case .end(_, wasDelayed: true):
      // A dispatch that was refused or has timed out has failed: its companions learn that when it ends.
      let details = makeDetails()
      if details.withState({ $0.refusal.map { $0.code == .skipped } ?? true }) {
        for companion in details.companions { companion.cancelledBeforeItsTime() }
      }
      scheduler?.endCancelled { self.endDelayed() }
    case .end(let wasParked, _):
      scheduler?.endCancelled { self.endWaiting(wasParked, at: scheduler!) }
    case .cancel(let work):
      cancelWork(work)
    case .endEarly(let early, let work, let wasCancelled):
      // Stop further starts before the result says which stores have started.
      let round = work.round
      round?.startNoMore()
      endEarly(early, work, round)
      if !wasCancelled { cancelWork(work) }
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
  private func endWaiting(_ wasParked: Bool, at scheduler: Scheduler) {
    leaveScheduler()
    // Before its hooks and its completion, which may wait for its exclusion keys.
    leaveGate()
    if let sequence {
      complete(sequence.result(of: id, cutBy: CancellationError(), refusal: refusal))
    } else {
      endStoresAsCancelled()
    }
    if wasParked { scheduler.releaseParked(self) } else { scheduler.noteSkipped() }
  }

  /// Calls the hooks of its stores, none of which has started, and completes the dispatch.
  private func endStoresAsCancelled() {
    // A step of that task ends it, so that what follows belongs to the block that sends it.
    if isOfTask { outer = DispatchContext.ofTask }
    let session = self.session.take()
    let result = route.unsafelyUnwrapped._withUnsafeGuaranteedRef { route in
      let outcomes = perform(nil) {
        (0..<route.count).map { index -> StoreOutcome in
          let verdict = isAtomic(along: route) ? nil : session?.reply(at: index)?.outcome
          let outcome = verdict ?? .cancelled(hasStarted: false)
          session?.didDispatch(outcome, at: index, along: route, startedAt: nil)
          return outcome
        }
      }
      return DispatchResult(
        dispatchID: id, identifiers: route.identifiers, outcomes: outcomes, hasBegun: false,
        error: refusal ?? route.error(with: details?.companions))
    }
    complete(result, session, hasLeft: true)
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
  private func endEarly(_ early: EarlyEnd, _ work: DispatchWork, _ round: Round?) {
    let details = makeDetails()
    let end: @Sendable () -> Void = {
      yieldPoint(.complete, self.id.description)
      defer { (early.generation, early.dispatcher) = (nil, nil) }
      guard let result = details.earlyResult(of: self.id, work, round) else { return }
      self.tellGate { result }
      if let completion = details.withState({ _ in early.completion.take() }) {
        self.withContext(of: nil, on: .current, early: early) {
          CapturedTaskLocal.bind(early.carried) { completion.run(result) }
        }
      }
      details.endEarly(result)
    }
    early.dispatcher?.pool.submit(end: .step(end))
  }

  /// Ends a dispatch that can't run at all.
  func fail(with error: DispatchError) {
    complete(DispatchResult(dispatchID: id, error: error))
  }

  // MARK: A deadline that has passed

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
    let isCancelled = cancelAlone(
      decide { state in
        let cancel = state.timeOut(error)
        switch cancel {
        case .endEarly(let early, _, _): early.claim(self)
        case .cancel: dispatcher = state.dispatcherToTellGate
        case .end, .goOn, .endUnsaved, .none: break
        }
        return cancel
      })
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
