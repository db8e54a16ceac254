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
    var isRetired = false

    /// Returns the timer's move to the end of the interval, after a transition.
    mutating func settled() -> MovingTimer.Move {
      isRetired = rates.isIdle
      return timer.move(to: rates.end)
    }
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
    let (now, callSite) = (clock.nanoseconds, delay.dispatch.callSite)
    yieldPoint(.comeAtRate, key.description)
    typealias Arrived = (RateState<DispatchDelay>.Arrival, DispatchDelay?, MovingTimer.Move)
    let change = state.withLock { state -> Arrived? in
      if state.isRetired { return nil }
      let (arrival, due) = state.rates.arrive(
        delay, rule, from: callSite, at: now, mayWait: delay.isPossible)
      // A refused dispatch leaves nothing behind, so the line may be idle.
      return (arrival, due, state.settled())
    }
    guard let (arrival, due, move) = change else { return nil }
    if let due, !isPlanted(.lostTrailing) { due.end() }
    if case .wait = arrival { delay.dispatch.at(.beforeResult) { self.leave(delay) } }
    apply(move)
    return arrival
  }

  /// Skips a dispatch that comes within an interval and does not wait for its end.
  ///
  /// Returns the call site of the one that has opened the interval; nil, without an effect, for any other dispatch.
  func skip(_ rule: RateRule) -> CallSite? {
    let now = clock.nanoseconds
    yieldPoint(.comeAtRate, key.description)
    let skipped = state.withLock { state -> (CallSite, MovingTimer.Move)? in
      guard let opener = state.rates.skip(rule, at: now) else { return nil }
      return (opener, state.settled())
    }
    guard let (opener, move) = skipped else { return nil }
    apply(move)
    return opener
  }

  /// Whether a dispatch that comes now opens an interval.
  var isBetweenIntervals: Bool {
    let now = clock.nanoseconds
    return state.withLock { $0.rates.isBetweenIntervals(at: now) }
  }

  /// Whether the line is idle, and no dispatch comes to it any longer.
  var isRetired: Bool { state.withLock(\.isRetired) }

  /// Closes the interval that a dispatch has opened, unless another one waits for its end.
  func withdraw(_ delay: DispatchDelay) {
    yieldPoint(.comeAtRate, key.description)
    let (move, isRetired) = state.withLock { state in
      state.rates.withdraw(delay)
      return (state.settled(), state.isRetired)
    }
    apply(move)
    if isRetired { table?.remove(self, of: key) }
  }

  private func leave(_ delay: DispatchDelay) {
    state.withLock { $0.rates.leave(delay) }
  }

  /// Returns whether a dispatch begins.
  private func timerFired() -> Bool {
    let now = clock.nanoseconds
    yieldPoint(.comeAtRate, key.description)
    let (due, move, isRetired) = state.withLock { state in
      state.timer.fired(at: now)
      let due = state.rates.settle(at: now)
      return (due, state.settled(), state.isRetired)
    }
    due?.end()
    apply(move)
    if isRetired { table?.remove(self, of: key) }
    return due != nil
  }

  private func apply(_ move: MovingTimer.Move) {
    timers?.apply(move) {
      self.timerFired()
    } keep: { token, number in
      state.withLock { $0.timer.keep(token, number) }
    }
  }
}
