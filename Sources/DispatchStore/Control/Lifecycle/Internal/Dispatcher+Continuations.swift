extension Dispatcher {
  /// Everything that goes on by itself; nil if nobody follows that.
  var continuations: Continuations? { pool.continuations }

  /// Follows what goes on by itself from now on, for `whenGoneOn`.
  package func followContinuations() {
    timers.follow(pool.followContinuations())
  }

  /// Calls a closure once something of what goes on by itself has gone on; returns false if nothing does.
  ///
  /// Without a dispatch under way these go on: timers whose time has come, and what they begin; groups; runs of effects;
  /// closures that await an end; and ends of dispatches for which no hook is called.
  ///
  /// A dispatch under way rests while it waits for a condition, or for another one that rests. If the dispatcher has a
  /// virtual clock, it rests while it waits for time to pass, too. In a simulation, where time passes by itself, none rests.
  ///
  /// A run rests while one of its tasks sleeps on a virtual clock, or awaits a dispatch that is delayed or rests, or one
  /// that waits for it, and while it waits for its turn or for another attempt. A group rests while that holds for all of
  /// its running steps. Long-lived effects do not count.
  ///
  /// - Parameters:
  ///   - awaitsEffects: Whether runs of effects count.
  ///   - resting: Set to the dispatches under way that rest; nil if none has come to rest.
  ///   - body: May be called early, and if this returns false.
  package func whenGoneOn(
    awaitsEffects: Bool, besides resting: inout Set<DispatchID>?,
    _ body: @escaping @Sendable () -> Void
  ) -> Bool {
    guard let continuations else { return false }
    // Before all else is looked at, so that no change is missed.
    let changes = continuations.whenChanged(body)
    resting = findResting(continuations)
    let atRest = resting ?? []
    return timers.isAnyDue || continuations.isAnyUnderWay(besides: atRest)
      || awaitsEffects && (continuations.isAnyRunAhead || isAnyEffectBusy(besides: atRest))
      // Last, since what has come due counted as delayed until it began.
      || delayedDispatches.isAnyDue
      // Something may have begun meanwhile that was looked at before.
      || continuations.changeCount != changes
  }

  /// Looks for the dispatches that rest, which takes time linear in the number of those in flight.
  private func findResting(_ continuations: Continuations) -> Set<DispatchID>? {
    guard world == nil, continuations.mayAnyRest || delayedDispatches.count > 0 else { return nil }
    return Set(self.resting(countsTime: clock.dated != nil).keys)
  }

  private func isAnyEffectBusy(besides resting: Set<DispatchID>) -> Bool {
    registry.withLock(\.followers).contains { $0.isBusy(besides: resting) }
  }
}

extension DispatchInfo {
  /// Notes the effects that follow the dispatch, for `whenGoneOn`; called in `dispatchDidEnd`.
  package func noteFollowers() {
    dispatcher.continuations?.willTell(session.followers.count, of: id)
  }

  /// Calls a closure once the completion has returned; call it in `dispatchDidEnd`.
  ///
  /// At once, unless a deadline has ended the dispatch, and its completion still runs on another thread.
  package func whenCompleted(_ body: @escaping @Sendable () -> Void) {
    session.whenCompleted(body)
  }
}
