extension DispatchOptions {
  /// Lets the dispatch begin when its rate limit has a token for it.
  ///
  /// With `.reject` that is decided at the call; if the dispatch begins later (`delayed`, `debounced`), in its turn once
  /// its time has come. The token comes back if the dispatch does not begin.
  ///
  /// With `.wait` the dispatch waits in its turn, right before it starts: it keeps its place in its lane and its
  /// exclusion keys, without a thread; a `.sync` caller blocks. Waiting ones of a key begin first come, first served.
  /// If it can't begin when its token comes, it may have to wait for another one.
  ///
  /// Cancelling ends the wait, and so does a time limit; its token goes to the next one, and so does that of a dispatch
  /// that is refused by a circuit breaker. A drain waits for it. In a task whose thread `.sync` would block, it ends
  /// with `wouldDeadlock`; no other wait is refused, since it ends with time.
  ///
  /// A sequence counts once, and so does a dispatch with retries. A dispatch may have several limits, and needs a token
  /// of each. An action group ignores them: give them to steps. Cost: two locks, and a timer for each key that is not
  /// full.
  public static func rateLimited(by limit: RateLimit) -> DispatchOptions {
    DispatchOptions().controlled { $0.rates.append(RateDemand(limit)) }
  }

  /// Lets the dispatch begin when its rate limit has a token for its key.
  ///
  /// Each key has its own bucket. Keys compare by type and value, and belong to the limit. Everything else is as with
  /// `rateLimited(by:)`.
  public static func rateLimited(
    by limit: RateLimit, key: some Hashable & Sendable
  ) -> DispatchOptions {
    let demand = RateDemand(limit, TypedKey(key))
    return DispatchOptions().controlled { $0.rates.append(demand) }
  }

  /// Refuses the dispatch while a dependency fails, and tells its circuit breaker how it ends.
  ///
  /// The breaker is asked when it is the dispatch's turn to begin, after all that it waits for. If it is open at the
  /// call, the dispatch is refused at once. A refused dispatch runs nothing: its error is `circuitOpen`, with the time
  /// `retryAfter`, and its completion runs.
  ///
  /// The breaker is told before the completion runs, at a deadline at once. Give the dispatch a time limit: a trial that
  /// never ends keeps the breaker half-open. A sequence counts once, and so does a dispatch with retries, by its last
  /// attempt. With several breakers, all have to let it pass. An action group ignores them: give them to steps. Cost: two
  /// locks.
  public static func guarded(by breakers: CircuitBreaker...) -> DispatchOptions {
    DispatchOptions().controlled { values in
      for breaker in breakers { values.add(breaker) }
    }
  }
}

extension DispatchOptions {
  /// The options of a group, without those that decide when or whether a dispatch begins: its steps have their own.
  var withoutPacing: DispatchOptions {
    if control == nil { return self }
    return controlled { ($0.rates, $0.breakers, $0.start, $0.key) = ([], [], nil, nil) }
  }
}

extension ControlOptions.Values {
  mutating func add(_ breaker: CircuitBreaker) {
    if !breakers.contains(where: { $0 === breaker }) { breakers.append(breaker) }
  }

  /// Asks breakers and rejecting rate limits at the call, for a dispatch that begins at once.
  func pace(_ dispatch: Dispatch, of dispatcher: Dispatcher) throws(DispatchError) {
    try askBreakers(at: dispatch.callSite, of: dispatcher)
    let demands = rejectingDemands
    do throws(DispatchError) {
      for demand in demands { _ = try demand.enter(dispatch, of: dispatcher) }
    } catch {
      for demand in demands { demand.leave(dispatch) }
      throw error
    }
  }

  /// Throws if breakers or rejecting rate limits refuse a dispatch made now; takes no token.
  func checkPace(at callSite: CallSite, of dispatcher: Dispatcher) throws(DispatchError) {
    try askBreakers(at: callSite, of: dispatcher)
    for demand in rejectingDemands { try demand.check(at: callSite) }
  }

  private var rejectingDemands: [RateDemand] { rates.filter { $0.limit.overflow == .reject } }

  private func askBreakers(
    at callSite: CallSite, of dispatcher: Dispatcher
  ) throws(DispatchError) {
    for breaker in breakers {
      guard let time = breaker.pauseLeft(for: dispatcher) else { continue }
      throw .circuitOpen(breaker, callSite, retryAfter: .nanoseconds(time))
    }
  }

  /// Returns the gate for what is decided in the dispatch's turn.
  ///
  /// The gate also gives back the token that a dispatch got at the call, if the dispatch does not begin.
  func pacingGate(after inner: StartGate?, of dispatcher: Dispatcher) -> StartGate? {
    if rates.isEmpty, breakers.isEmpty { return inner }
    return PacingGate(rates, breakers, after: inner, of: dispatcher)
  }
}
