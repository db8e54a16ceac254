// The end of a dispatch to stores whose commits must be saved first.
extension Dispatch {
  /// Frees the place of a dispatch whose stores have ended, and completes it once their commits are saved.
  func save(_ round: Round, _ gate: EndGate) {
    yieldPoint(.awaitSaving, id.description)
    let details = makeDetails()
    let scheduler = round.scheduler
    let end = PendingEnd(of: self, round, since: round.commitNumber, at: gate, from: scheduler)
    // Before the wait begins: from then on a deadline may end the dispatch on another thread.
    round.session?.noteWaitForSaving()
    details.beginSaving(end, round.result)
    let mayPass = gate.enter(end)
    freePlace(scheduler, details, for: end)
    // Not in the lane's own step: its completion may block until the next dispatch of the lane has ended.
    if !mayPass { return endUnsaved(details) ? end.resumeEarly() : lead(end, details) }
    if !end.lanes.isEmpty, !scheduler.isTask { return gate.resume(end) }
    if endSaving(end) { finish(end) } else { end.leave() }
  }

  /// Lets a thread that would block save the commits itself, unless it has to return at a deadline.
  private func lead(_ end: PendingEnd, _ details: DispatchDetails) {
    if isSynchronous, details.inheritedDeadline == nil { end.gate.lead(end) }
  }

  private func freePlace(_ scheduler: Scheduler, _ details: DispatchDetails, for end: PendingEnd) {
    leaveGate()
    if isPlanted(.unitBeforeSaved) {
      for release in details.withState({ $0.takeReleases() }) { release() }
    }
    scheduler.leaveFurtherPlaces()
    if !isSynchronous, !scheduler.isTask {
      // The lane may be gone before the dispatch ends.
      details.scheduler = end.place
      enter(end.place)
    }
    scheduler.release(self)
  }

  /// Completes a dispatch whose end has passed its gate.
  func finish(_ end: PendingEnd) {
    ThreadState.current.hold(end) { completeSaved(end) }
  }

  /// Ends the wait for saving; returns false if the dispatch has timed out, and another step completes it.
  func endSaving(_ end: PendingEnd) -> Bool {
    yieldPoint(.endSaving, id.description)
    settleDeadline()
    return makeDetails().withState { $0.endSaving(end.error) }
  }

  /// Ends the wait for saving if the dispatch had timed out before; returns false if it waits, or another step ends it.
  private func endUnsaved(_ details: DispatchDetails) -> Bool {
    guard details.withState({ $0.refusal?.code == .timedOut }) else { return false }
    yieldPoint(.endSaving, id.description)
    return details.endUnsaved()
  }

  /// Completes a dispatch that no longer waits for saving.
  func completeSaved(_ end: PendingEnd) {
    guard let round = end.round else {
      return endSequence(at: end.place, inPause: end.isInPause)
    }
    round.callRemainingHooks()
    complete(round.result, round.session, at: end.place, hasLeft: true)
  }

  /// Whether this is a sequence that waits until its commits are saved, and keeps its lane meanwhile.
  ///
  /// - Parameter inPause: Whether it was cancelled between two actions, while the queue was suspended.
  func awaitsSaving(inPause: Bool = false) -> Bool {
    guard let sequence, sequence.hasStarted, let gate = sequence.endGate else { return false }
    yieldPoint(.awaitSaving, id.description)
    let details = makeDetails()
    let scheduler = scheduler
    // Nothing else retains it until the sequence has ended.
    details.scheduler = scheduler
    let end = PendingEnd(
      of: self, nil, since: sequence.commitNumber, at: gate, from: scheduler, inPause: inPause)
    session?.noteWaitForSaving()
    details.beginSaving(end, sequenceResult)
    if gate.enter(end) {
      end.leave()
      return !endSaving(end)
    }
    // A deadline that has passed before ends it now, as one that passes from here on does. The next ends of its lane
    // pass once this one is saved.
    if endUnsaved(details) { return false }
    lead(end, details)
    return true
  }

  /// Completes a sequence in a step of its own, and releases its place.
  ///
  /// - Parameter inPause: Whether it was cancelled between two actions, so that this is no step of its place.
  func endSequence(at place: Scheduler, inPause: Bool) {
    endSequence()
    if inPause { place.releaseParked(self) } else { place.release(self) }
  }
}

extension DispatchDetails {
  /// Keeps the rows of companions that were in no commit, and begins the wait until commits are saved.
  fileprivate func beginSaving(_ end: PendingEnd, _ result: @autoclosure () -> DispatchResult) {
    if !hasLostCommit, !companions.isEmpty {
      // Before the wait: from then on a deadline may end the dispatch on another thread, which assumes that rows are kept.
      let result = result()
      let rows = companions.flatMap { $0.rows(of: result) }
      if !rows.isEmpty { end.gate.keep(rows) }
    }
    withState { $0.beginSaving(end) }
  }
}

extension DispatchError {
  /// The error of a dispatch that has timed out while its commits were being saved.
  var afterCommit: DispatchError {
    var error = self
    error.message += """
       Its stores had ended, and have committed: only the wait until the commits are saved was cut short, so expect \
      them to be saved.
      """
    error.isAfterCommit = true
    return error
  }
}
