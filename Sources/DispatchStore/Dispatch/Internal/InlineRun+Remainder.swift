/// What is left where an inline run stops at a store: for the caller's task, for that store by itself, or for a round.
extension InlineRun.Address {
  /// Leaves a store's block to the caller's task, which runs it itself; false where it is not to.
  ///
  /// Where others could start meanwhile, where it may have to wait before, where it is not cancelled with the task, or
  /// where the task would pass on what it binds.
  private func continueInTask(
    with record: Dispatch, from remainder: InlineRemainder, on thread: ThreadState
  ) -> Bool {
    guard pointee.place != nil || record.isOfTask, let begun = remainder.begun,
      case .unfinished(let operation) = begun.step
    else { return false }
    return pointee.route._withUnsafeGuaranteedRef { route in
      guard remainder.only(of: route) != nil, !route.runsRegardless[begun.index],
        route.withEntry(at: begun.index, { $0.isPrivate(operation) }),
        record.withDetails(\.mayGoOnInTask) != false, !TaskLocalAddress.isCopied
      else { return false }
      pointee.holdPlace(for: record)
      let task = pointee.task ?? record.scheduler.asTask!
      if task.needsMainQueue { return false }
      if !record.hasDetails { _ = record.makeDetails() }
      if pointee.task != nil {
        pointee.continuesInTask = true
        // The task goes on without what is on this thread's stack.
        record.keep(outer: DispatchContext.ofTask)
      }
      if let completion = pointee.completion.take() { record.keep(completion) }
      let session = pointee.session.take()?.takeRetainedValue()
      session?.keepAlive()
      let storeRun = SoloStoreRun.make(
        of: record, at: task,
        session?.action ?? copyAction(route.entries[0].actionType, at: pointee.action), to: route,
        session, index: begun.index, after: pointee.outcomes, on: thread)
      storeRun.leave(operation, to: task)
      if record.withDetails({ $0.begin(storeRun, in: task) }) == true { storeRun.cancel() }
      return true
    }
  }

  /// Goes on with what is left in a round, or with one store by itself, after which an inline run goes on.
  func continueInRound(
    with record: Dispatch, from remainder: InlineRemainder, on thread: ThreadState
  ) {
    if continueInTask(with: record, from: remainder, on: thread) { return }
    let route = pointee.route.takeUnretainedValue()
    let session = pointee.session.take()?.takeRetainedValue()
    session?.keepAlive()
    let dispatcher = session?.dispatcher ?? pointee.dispatcher?.takeUnretainedValue()
    let action = session?.action ?? copyAction(route.entries[0].actionType, at: pointee.action)
    if let completion = pointee.completion.take() { record.keep(completion) }
    pointee.holdPlace(for: record)
    if pointee.task != nil {
      pointee.continuesInTask = true
      // The task goes on without what is on this thread's stack.
      record.keep(outer: DispatchContext.ofTask)
    }
    let (details, scheduler) = record.makeDetails(
      forRoundsOf: dispatcher, in: pointee.task, on: thread)
    if record.isSynchronous, thread.isInside { record.joinBlock(on: thread) }
    if let begun = remainder.begun, let index = remainder.only(of: route), details.mayGoOnInline {
      let storeRun = SoloStoreRun.make(
        of: record, at: scheduler, action, to: route, session, index: index,
        after: pointee.outcomes, on: thread)
      if details.begin(.store(storeRun), storeRun) { storeRun.cancel() }
      return record.begin(storeRun, after: begun.step)
    }
    let round = Round(
      of: record, at: scheduler, action, to: route, session,
      ended: remainder.ended(of: route, pointee.outcomes), begun: remainder.begun?.index)
    let begun = remainder.begun.map { round.storeRun(at: $0.index) }
    if details.begin(.round(round), begun) { round.cancel() }
    record.begin(round, after: remainder)
  }
}
