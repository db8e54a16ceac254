/// The dispatches of one key that come at a rate.
///
/// Ends with its interval.
final class RateLine: Sendable {
  let key: TypedKey
  private let state = Locked(State())
  private let clock: DispatcherClock
  // Weak, since the dispatcher owns both; a waiting dispatch keeps the dispatcher alive.
  private weak let timers: TimerQueue?
  private weak let table: KeyedTable<RateLine>?

  private struct State {
    var rates = RateState<DispatchDelay>()
    var timer = MovingTimer()
    /// Whether the line is idle, and no dispatch comes to it any longer.
    var isRetired = false
  }

  init(_ key: TypedKey, in table: KeyedTable<RateLine>, of dispatcher: Dispatcher) {
    self.key = key
    self.table = table
    timers = dispatcher.timers
    clock = dispatcher.clock
  }

  /// Adds a dispatch.
  ///
  /// Returns nil if the line is retired, and the caller must take another.
  func arrive(_ delay: DispatchDelay, _ rule: RateRule) -> RateState<DispatchDelay>.Arrival? {
    let callSite = delay.dispatch.callSite
    let arrived = change { state, now in
      state.rates.arrive(delay, rule, from: callSite, at: now, mayWait: delay.mayWait)
    }
    guard let (arrival, due) = arrived else { return nil }
    if let due, !isPlanted(.lostTrailing) { due.end() }
    if case .wait = arrival { delay.dispatch.at(.beforeResult) { self.leave(delay) } }
    return arrival
  }

  /// Skips a dispatch that comes within an interval and does not wait for its end.
  ///
  /// Returns the call site of the one that has opened the interval; nil, without an effect, for any other dispatch.
  func skip(_ rule: RateRule) -> CallSite? {
    change { state, now in state.rates.skip(rule, at: now) } ?? nil
  }

  /// Whether a dispatch that comes now opens an interval.
  var isBetweenIntervals: Bool {
    let now = clock.nanoseconds
    return state.withLock { $0.rates.isBetweenIntervals(at: now) }
  }

  /// Closes the interval that a dispatch has opened, unless another one waits for its end.
  func withdraw(_ delay: DispatchDelay) {
    change { state, _ in state.rates.withdraw(delay) }
  }

  private func leave(_ delay: DispatchDelay) {
    state.withLock { $0.rates.leave(delay) }
  }

  /// Returns whether a dispatch begins.
  private func timerFired() -> Bool {
    let begun = change { state, now -> DispatchDelay? in
      state.timer.fired(at: now)
      return state.rates.settle(at: now)
    }
    guard let due = begun ?? nil else { return false }
    due.end()
    return true
  }

  /// Makes a transition, and moves the timer to the end of the interval; returns nil, without an effect, if the line is
  /// retired.
  @discardableResult
  private func change<Result>(_ body: (inout State, _ now: Int64) -> Result) -> Result? {
    let now = clock.nanoseconds
    yieldPoint(.comeAtRate, key.description)
    let changed = state.withLock { state -> (Result, MovingTimer.Move, Bool)? in
      if state.isRetired { return nil }
      let result = body(&state, now)
      // A refused dispatch leaves nothing behind, so the line may be idle.
      state.isRetired = state.rates.isIdle
      return (result, state.timer.move(to: state.rates.end), state.isRetired)
    }
    guard let (result, move, isRetired) = changed else { return nil }
    timers?.apply(move) {
      self.timerFired()
    } keep: { token, number in
      state.withLock { $0.timer.keep(token, number) }
    }
    if isRetired { table?.remove(self, of: key) }
    return result
  }
}
