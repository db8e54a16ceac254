extension Dispatcher {
  /// Everything that goes on by itself; nil if nobody follows that.
  var continuations: FollowedContinuations? { pool.continuations as? FollowedContinuations }

  /// Follows what goes on by itself from now on, for `whenGoneOn`.
  package func followContinuations() {
    timers.follow(pool.follow(FollowedContinuations()))
  }

  /// Calls a closure once something of what goes on by itself has gone on; returns false if nothing does.
  ///
  /// Without a dispatch under way these go on: timers whose time has come, and what they begin; groups; runs of effects;
  /// closures that await an end; and ends of dispatches for which no hook is called.
  ///
  /// A run rests while one of its tasks sleeps on a virtual clock, or awaits a delayed dispatch or one that waits for it,
  /// and while it waits for its turn or for another attempt. A group rests while that holds for all of its running steps.
  /// Long-lived effects do not count.
  ///
  /// - Parameters:
  ///   - awaitsEffects: Whether runs of effects count.
  ///   - body: May be called early, and if this returns false.
  package func whenGoneOn(
    awaitsEffects: Bool, _ body: @escaping @Sendable () -> Void
  ) -> Bool {
    guard let continuations else { return false }
    // Before all else is looked at, so that no change is missed.
    let changes = continuations.whenChanged(body)
    return timers.isAnyDue || continuations.isAnyUnderWay
      || awaitsEffects && (continuations.isAnyRunAhead || isAnyEffectBusy)
      // Last, since what has come due counted as delayed until it began.
      || delayedDispatches.isAnyDue
      // Something may have begun meanwhile that was looked at before.
      || continuations.changeCount != changes
  }

  private var isAnyEffectBusy: Bool {
    registry.withLock(\.followers).contains(where: \.isBusy)
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
