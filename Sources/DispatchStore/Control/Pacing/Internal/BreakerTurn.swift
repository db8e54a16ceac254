/// The way of a dispatch through a circuit breaker.
final class BreakerTurn: Sendable {
  let breaker: CircuitBreaker
  private let standing = Locked(Standing.ahead)

  private enum Standing {
    /// Can become inside or over.
    case ahead
    /// The breaker has let it pass. Can become over.
    case inside(BreakerState.Pass)
    /// The dispatch has ended.
    case over
  }

  init(_ breaker: CircuitBreaker) {
    self.breaker = breaker
  }

  /// Asks the breaker; throws if the dispatch does not begin.
  func enter(_ dispatch: Dispatch, of dispatcher: Dispatcher) throws(DispatchError) {
    if case .inside = standing.withLock({ $0 }) { return }
    switch breaker.enter(for: dispatcher) {
    case .refused(let time):
      throw .circuitOpen(breaker, dispatch.callSite, retryAfter: .nanoseconds(time))
    case .pass(let pass):
      // The dispatch may have been cancelled meanwhile: then nobody else reports its end.
      let isOver = standing.withLock { standing in
        if case .over = standing { return true }
        standing = .inside(pass)
        return false
      }
      if isOver, !isPlanted(.lostTrial) { breaker.report(nil, of: pass) }
    }
  }

  /// Reports the end of the dispatch, if the breaker has let it pass; without a result, it does not begin.
  ///
  /// Only the first of several calls counts. It does so in the breaker's lock: after any of them, the breaker shows it.
  func ended(
    _ result: DispatchResult?, wasCancelled: Bool = false, hasTimedOut: Bool = false
  ) {
    let present = standing.withLock { standing in
      if case .ahead = standing { standing = .over }
      return standing
    }
    guard case .inside(let pass) = present else { return }
    breaker.report(result, of: pass, wasCancelled: wasCancelled, hasTimedOut: hasTimedOut) {
      if case .inside = standing.exchange(.over) { true } else { false }
    }
  }
}

extension DispatchError {
  static func circuitOpen(
    _ breaker: CircuitBreaker, _ callSite: CallSite, retryAfter time: Duration
  ) -> DispatchError {
    DispatchError(
      code: .circuitOpen,
      message: """
        The dispatch at \(callSite) was refused by the circuit breaker "\(breaker.name)", which is open because of \
        failures, or waits for a trial to end. Try again after \(time).
        """,
      callSites: [callSite], retryAfter: time)
  }
}
