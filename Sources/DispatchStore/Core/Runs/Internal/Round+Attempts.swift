// The attempts of stores that fail and run again. An atomic action runs again as a whole.
extension Round {
  /// An attempt of an atomic action in all of its stores.
  struct AtomicAttempt {
    /// How the stores have ended; set by the step of the leader, before others begin.
    var outcome: AtomicOutcome?
    /// The time at which it began, for the hooks of all stores; set with the outcome.
    var startedAt: Int64?
    /// The attempt by store index; nil for the first one.
    var repeated: [StoreRun.Repeated]?
    /// The store whose code runs; set by the step of the leader.
    var index = 0
    /// Whether `didDispatch` was called for all stores, since another attempt was to follow.
    var hasCalledHooks = false
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

  /// Calls `didDispatch` for the other stores of an atomic action whose leader runs again.
  func callOtherHooks(_ session: MiddlewareSession) {
    for index in leader + 1..<route.count {
      let other = storeRun(at: index)
      other.startedAt = atomic.startedAt
      if let outcome = atomic.outcome?[index] { didDispatch(other, outcome, session) }
    }
    atomic.hasCalledHooks = true
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
