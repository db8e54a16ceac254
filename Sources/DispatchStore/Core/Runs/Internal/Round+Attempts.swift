// The attempts of stores that fail and run again. An atomic action runs again as a whole.
extension Round {
  /// The verdict of the middlewares; nil if they let the action pass.
  func reply(to storeRun: StoreRun) -> MiddlewareChain.Reply? {
    if let repeated = storeRun.repeated { return repeated.reply }
    return session?.reply(at: storeRun.index)
  }

  /// The pause before another attempt of a store, in nanoseconds; nil if none follows.
  func pauseBeforeRetry(of storeRun: StoreRun, after outcome: StoreOutcome) -> Int64? {
    guard let retry, case .failed(let error) = outcome, atomicOutcome?.mayRepeat != false,
      let attempt = state.withLock({ $0.failedAttempt(storeRun.index) })
    else { return nil }
    let seed = retry.dispatcher.pool.world.map { _ in
      dispatch.id.rawValue &* 1_048_576 &+ UInt64(storeRun.index) &* 1_024
    }
    let failure = FailedAttempt(error: atomicOutcome?.error ?? error, attempt: attempt, seed: seed)
    return dispatch.perform(nil) { retry.rule.pause(after: failure) }
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

  /// Makes another run of a store, and calls its hooks.
  func makeAnotherAttempt(_ index: Int, _ attempt: Int) -> StoreRun {
    let reply = session.flatMap { session in
      dispatch.perform(nil) { session.willDispatch(action, at: index, to: route.entries[index]) }
    }
    return storeRun(
      at: index, again: StoreRun.Repeated(attempt: attempt, reply: reply, began: session?.now))
  }

  /// Notes that an atomic action was cancelled between two attempts, so that the leader closes next.
  func notePauseCancelled() {
    if isAtomic { (atomicOutcome, atomicStart) = (AtomicOutcome(cancelledAlong: route), nil) }
  }
}
