// Dispatches of one action to one store that only a time limit controls. Their records keep it, without details: most
// end before another thread takes part, as they would without a limit, and the record is used again. Whatever comes
// before, the deadline included, finds the limit in the details that it makes.
extension Dispatcher {
  /// Whether nothing but the limit of its options controls a dispatch, and its stores need no preparation.
  func isLimitedOnly(
    _ dispatch: Dispatch, _ options: DispatchOptions, _ mode: Mode, on thread: ThreadState
  ) -> Bool {
    guard
      !mode.isSync, options.control == nil, defaultAdmission == nil, dispatch.details == nil,
      !mayBeOfBlock(dispatch, on: thread), let route = dispatch.route
    else { return false }
    // How far several stores have come when the deadline comes, only details can say.
    return route._withUnsafeGuaranteedRef { $0.count == 1 && !$0.needsPreparation }
  }

  /// Queues a dispatch that no other thread knows.
  ///
  /// Its timer is set first: after that, it may have ended.
  @inline(never)
  func enqueue(
    _ dispatch: Dispatch, _ mode: Mode, withLimit nanoseconds: Int64
  ) -> DispatchHandle {
    let now = clock.nanoseconds
    let deadline = Deadline(after: nanoseconds, by: now)
    guard deadline.time > now else {
      return refuse(
        dispatch, DispatchError.timedOut(dispatch.callSite, after: deadline.duration), mode)
    }
    var scheduler = self.scheduler(of: mode)
    dispatch.enter(scheduler)
    let limit = dispatch.put(deadline, of: self)
    yieldPoint(.setTimer, dispatch.id.description)
    limit._withUnsafeGuaranteedRef { timers.wasSet($0, now: now) }
    while !scheduler.schedule(dispatch, for: self) {
      let other = self.scheduler(of: mode)
      // The thread of the timer may look at the scheduler, under the details' lock.
      _ = dispatch.makeDetails()
      dispatch.move(to: other)
      scheduler = other
    }
    // The limit is there as long as this thread refers to the dispatch. One whose deadline has come is skipped by its
    // lane, which may have retired since.
    withExtendedLifetime(scheduler) {
      if !limit._withUnsafeGuaranteedRef({ $0.isFirstToMeet() }) { dispatch.endAcceptance() }
    }
    return DispatchHandle(dispatch)
  }
}
