extension InlineRun.Address {
  /// Continues in a round with the remaining stores.
  func continueInRound(
    with record: Dispatch, from remainder: InlineRemainder, on thread: ThreadState
  ) {
    let route = pointee.route.takeUnretainedValue()
    let session = pointee.session.take()?.takeRetainedValue()
    session?.keepAlive()
    let dispatcher = session?.dispatcher ?? pointee.dispatcher?.takeUnretainedValue()
    let action = session?.action ?? copyAction(route.entries[0].actionType, at: pointee.action)
    if let completion = pointee.completion.take() { record.completion = completion }
    pointee.holdPlace(for: record)
    if pointee.task != nil {
      pointee.continuesInTask = true
      // The task continues without the contexts on this thread's stack.
      record.outer = DispatchContext.ofTask
    }
    pointee.captureTaskLocals(for: record)
    let (details, scheduler) = record.makeDetails(
      forRoundsOf: dispatcher, in: pointee.task, on: thread)
    if record.isSynchronous, DispatchContext.isInside(on: thread) {
      // The dispatch begins to wait, and from now on is cancelled with the enclosing block.
      record.link(to: DispatchContext.linkedBlock(from: thread.run, on: thread))
    }
    // A task that was cancelled between two of its stores must begin no block.
    if scheduler.isTask, record.isCancelledWithTask { record.cancel() }
    // A start is also noted for a store that is left to the round.
    if remainder.index == 0, remainder.begun == nil { session?.forgetFirstStart() }
    let round = Round(
      of: record, at: scheduler, action, to: route, session, finished: remainder.index,
      begun: remainder.begunIndex)
    let begun = remainder.begunIndex.map { round.storeRun(at: $0) }
    if details.begin(.round(round), begun) { round.cancel() }
    details.startTimer(if: { $0.needsTimerInRound }) { record.timerFired() }
    yieldPoint(.beginRound, on: thread, record.id.description)
    round.takeStep { $0.begin(after: remainder, begun) }
  }
}
