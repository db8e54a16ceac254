/// The dispatches of one key that come at a rate.
///
/// Kept by its timer until the interval has ended, and by the dispatches that waited at it until they have.
final class RateLine: Sendable {
  private let place: KeyedPlace
  private let state = Locked(State())
  private let clock: DispatcherClock
  // Weak, since the dispatcher owns both; a waiting dispatch keeps the dispatcher alive.
  private weak let timers: TimerQueue?

  private struct State {
    var rates = RateState<DispatchDelay>()
    var timer = MovingTimer()
  }

  init(_ place: KeyedPlace, of dispatcher: Dispatcher) {
    self.place = place
    timers = dispatcher.timers
    clock = dispatcher.clock
  }

  /// Adds a dispatch.
  func arrive(_ delay: DispatchDelay, _ rule: RateRule) -> RateState<DispatchDelay>.Arrival {
    let callSite = delay.dispatch.callSite
    let arrival = change { state, now in
      let arrived = state.rates.arrive(
        delay, rule, from: callSite, at: now, mayWait: delay.mayWait)
      return (arrived.0, due: isPlanted(.lostTrailing) ? nil : arrived.due)
    }.result
    if case .wait = arrival { delay.dispatch.at(.beforeResult) { self.leave(delay) } }
    return arrival
  }

  /// Skips a dispatch that comes within an interval and does not wait for its end.
  ///
  /// Returns the call site of the one that has opened the interval; nil, without an effect, if it is not skipped.
  func skip(_ rule: RateRule) -> CallSite? {
    change { state, now in (state.rates.skip(rule, at: now), due: nil) }.result
  }

  /// Whether a dispatch that comes now opens an interval.
  var isBetweenIntervals: Bool {
    let now = clock.nanoseconds
    return state.withLock { $0.rates.isBetweenIntervals(at: now) }
  }

  /// Closes the interval that a dispatch has opened, unless another one waits for its end.
  func withdraw(_ delay: DispatchDelay) {
    change { state, _ in (state.rates.withdraw(delay), due: nil) }
  }

  private func leave(_ delay: DispatchDelay) {
    state.withLock { $0.rates.leave(delay) }
  }

  /// Returns whether a dispatch begins.
  private func timerFired() -> Bool {
    change { state, now in
      state.timer.fired(at: now)
      return ((), due: state.rates.settle(at: now))
    }.hasBegun
  }

  /// Makes a transition, begins the dispatch that is due, and moves the timer to the end of the interval, in this order,
  /// since the timer begins the next one.
  ///
  /// - Returns: The body's result, and whether a dispatch has begun.
  @discardableResult
  private func change<Result>(
    _ body: (inout State, _ now: Int64) -> (Result, due: DispatchDelay?)
  ) -> (result: Result, hasBegun: Bool) {
    let now = clock.nanoseconds
    yieldPoint(.comeAtRate, place.key.description)
    typealias Changed = (Result, DispatchDelay?, MovingTimer.Move)
    let (result, due, move) = state.withLock { state -> Changed in
      let (result, due) = body(&state, now)
      return (result, due, state.timer.move(to: state.rates.end))
    }
    due?.end()
    timers?.apply(move) {
      self.timerFired()
    } keep: { token, number in
      state.withLock { $0.timer.keep(token, number) }
    }
    return (result, due != nil)
  }
}
