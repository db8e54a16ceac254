/// The dispatches of one key that come at a rate.
///
/// Kept by its timer until the interval has ended, and by the dispatches that waited at it until they have.
final class RateLine: Sendable {
  private let place: KeyedPlace
  private let rates = Locked(RateState<DispatchDelay>())
  private let timer = MovingTimer()
  private let clock: DispatcherClock
  // Weak, since the dispatcher owns both; a waiting dispatch keeps the dispatcher alive.
  private weak let timers: TimerQueue?

  init(_ place: KeyedPlace, of dispatcher: Dispatcher) {
    self.place = place
    timers = dispatcher.timers
    clock = dispatcher.clock
  }

  /// Adds a dispatch.
  func arrive(_ delay: DispatchDelay, _ rule: RateRule) -> RateState<DispatchDelay>.Arrival {
    let callSite = delay.dispatch.callSite
    let arrival = change { rates, now in
      let arrived = rates.arrive(delay, rule, from: callSite, at: now, mayWait: delay.mayWait)
      return (arrived.0, due: isPlanted(.lostTrailing) ? nil : arrived.due)
    }.result
    if case .wait = arrival {
      // Before the completion, which may dispatch the next one.
      delay.dispatch.makeDetails().atStoresEnd { self.leave(delay) }
    }
    return arrival
  }

  /// Skips a dispatch that comes within an interval and does not wait for its end.
  ///
  /// Returns the call site of the one that has opened the interval; nil, without an effect, if it is not skipped.
  func skip(_ rule: RateRule) -> CallSite? {
    change { rates, now in (rates.skip(rule, at: now), due: nil) }.result
  }

  /// Whether a dispatch that comes now opens an interval.
  var isBetweenIntervals: Bool {
    let now = clock.nanoseconds
    return rates.withLock { $0.isBetweenIntervals(at: now) }
  }

  /// Closes the interval that a dispatch has opened, unless another one waits for its end.
  func withdraw(_ delay: DispatchDelay) {
    change { rates, _ in (rates.withdraw(delay), due: nil) }
  }

  private func leave(_ delay: DispatchDelay) {
    rates.withLock { $0.leave(delay) }
  }

  /// Returns whether a dispatch begins.
  private func timerFired() -> Bool {
    change { rates, now in
      timer.fired(at: now)
      return ((), due: rates.settle(at: now))
    }.hasBegun
  }

  /// Makes a transition, begins the dispatch that is due, and moves the timer to the end of the interval, in this order,
  /// since the timer begins the next one.
  ///
  /// - Returns: The body's result, and whether a dispatch has begun.
  @discardableResult
  private func change<Result>(
    _ body: (inout RateState<DispatchDelay>, _ now: Int64) -> (Result, due: DispatchDelay?)
  ) -> (result: Result, hasBegun: Bool) {
    let now = clock.nanoseconds
    yieldPoint(.comeAtRate, place.key.description)
    typealias Changed = (Result, DispatchDelay?, MovingTimer.Move)
    let (result, due, move) = rates.withLock { rates -> Changed in
      let (result, due) = body(&rates, now)
      return (result, due, timer.move(to: rates.end))
    }
    due?.end()
    timer.make(move, in: timers) { self.timerFired() }
    return (result, due != nil)
  }
}
