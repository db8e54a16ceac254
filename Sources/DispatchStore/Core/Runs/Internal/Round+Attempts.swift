// The attempts of stores that fail and run again. An atomic action runs again as a whole.
extension Round {
  /// An attempt of an atomic action in all of its stores.
  struct AtomicAttempt {
    /// How the stores have ended; set by the step that has run them.
    var outcome: AtomicOutcome?
    /// The time at which it began, for the hooks of all stores; set with the outcome.
    var startedAt: Int64?
    /// The attempt by store index; nil for the first one.
    var repeated: [StoreRun.Repeated]?
    /// The store whose code runs.
    var index = 0
  }

  /// The pause before another attempt of a store, in nanoseconds; nil if none follows.
  func pauseBeforeRetry(of storeRun: StoreRun, after outcome: StoreOutcome) -> Int64? {
    guard let retry, case .failed(let error) = outcome, atomic.outcome?.mayRepeat != false,
      let attempt = state.withLock({ $0.failedAttempt(storeRun.index) })
    else { return nil }
    let seed = retry.dispatcher.pool.world.map { _ in
      dispatch.id.rawValue &* 1_048_576 &+ UInt64(storeRun.index) &* 1_024
    }
    let failure = FailedAttempt(error: atomic.outcome?.error ?? error, attempt: attempt, seed: seed)
    return dispatch.perform(nil) { retry.rule.pause(after: failure) }
  }

  /// The parts of all stores in an attempt of an atomic action, with their outcomes.
  func partsOfAll(
    with leader: StoreRun, _ outcome: StoreOutcome
  ) -> [(StoreRun, StoreOutcome)] {
    route.entries.indices.map { index in
      if index == leader.index { return (leader, outcome) }
      let part = storeRun(at: index)
      (part.startedAt, part.endedAt) = (atomic.startedAt, leader.endedAt)
      return (part, atomic.outcome?[index] ?? outcome)
    }
  }

  /// Retries a failed store.
  ///
  /// Returns the stores to start now, empty if a pause comes first; nil if the dispatch was cancelled meanwhile.
  func runAgain(_ storeRun: StoreRun, after pause: Int64) -> [Int]? {
    let (index, attempt) = (storeRun.index, storeRun.attempt)
    yieldPoint(.pauseBeforeAttempt, route.identifiers[index])
    guard let retry, let operation = state.withLock({ $0.retry(index, pauses: pause > 0) })
    else { return nil }
    withExtendedLifetime(operation) {}
    dispatch.details?.removeReply(of: route.identifiers[index])
    guard pause > 0 else { return [index] }
    let timers = retry.dispatcher.timers
    let timer = timers.add(at: retry.dispatcher.clock.nanoseconds.addingClamped(pause)) {
      self.pausePassed(at: index, before: attempt + 1)
    }
    if !state.withLock({ $0.keep(timer, at: index, of: attempt + 1) }) { timers.remove(timer) }
    return []
  }

  /// Continues after the pause before an attempt, on a thread of the clock's.
  private func pausePassed(at index: Int, before attempt: Int) {
    yieldPoint(.pausePassed, route.identifiers[index])
    guard state.withLock({ $0.pausePassed(index, before: attempt) }) else { return }
    resume { $0.start([index]) }
  }

  /// Makes another run of a store, and calls its hooks; of an atomic action, those of all stores.
  func makeAnotherAttempt(_ index: Int, _ attempt: Int) -> StoreRun {
    let indices = isAtomic ? 0..<route.count : index..<index + 1
    let replies = indices.map { index in
      session.flatMap { session in
        dispatch.perform(nil) { session.willDispatch(action, at: index, to: route.entries[index]) }
      }
    }
    let began = session?.now
    let repeated = replies.map { StoreRun.Repeated(attempt: attempt, reply: $0, began: began) }
    if isAtomic { atomic = AtomicAttempt(repeated: repeated) }
    return storeRun(at: index, again: repeated[index - indices.lowerBound])
  }

  /// Notes that an atomic action was cancelled before an attempt, so that the leader closes next.
  func notePauseCancelled() {
    guard isAtomic else { return }
    // The others stand as the leader does: as started, if there was an attempt before.
    let hasStarted = atomic.outcome != nil || atomic.repeated != nil
    atomic.outcome = AtomicOutcome(cancelledAlong: route, hasStarted: hasStarted)
    atomic.startedAt = nil
  }
}
