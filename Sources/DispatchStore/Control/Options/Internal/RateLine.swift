/// The dispatches of one key that come at a rate.
///
/// Ends with its interval.
final class RateLine: KeyedMember, TimerTarget {
  let key: TypedKey
  private let state = Locked(State())
  private let clock: DispatcherClock
  // Weak, since the dispatcher owns both; a waiting dispatch keeps the dispatcher alive.
  private weak let timers: TimerQueue?
  private weak let table: RateTable?

  private struct State {
    var rates = RateState<DispatchDelay>()
    var isRetired = false
    /// The timer that is set: its time, its number among the line's timers, and its token once that is known.
    var timerTime: Int64?
    var timerNumber = 0
    var token: TimerToken?
  }

  init(_ key: TypedKey, in table: RateTable, of dispatcher: Dispatcher) {
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
    let found = state.withLock { state -> (RateState<DispatchDelay>.Arrival, DispatchDelay?)? in
      if state.isRetired { return nil }
      let arrival = state.rates.arrive(
        delay, rule, from: callSite, at: now, mayWait: delay.isPossible)
      // A refused dispatch leaves nothing behind, so the line may be idle.
      state.isRetired = state.rates.isIdle
      return arrival
    }
    guard let (arrival, due) = found else { return nil }
    if let due, !isPlanted(.lostTrailing) { due.end() }
    if case .wait = arrival { delay.dispatch.beforeResult { self.leave(delay) } }
    setTimer()
    return arrival
  }

  /// Whether the line is idle, and no dispatch comes to it any longer.
  var isRetired: Bool { state.withLock(\.isRetired) }

  private func leave(_ delay: DispatchDelay) {
    state.withLock { $0.rates.leave(delay) }
  }

  func timerFired() {
    let now = clock.nanoseconds
    yieldPoint(.comeAtRate, key.description)
    let (due, isRetired) = state.withLock { state in
      let due = state.rates.settle(at: now)
      if let time = state.timerTime, time <= now { (state.timerTime, state.token) = (nil, nil) }
      state.isRetired = state.rates.isIdle
      return (due, state.isRetired)
    }
    due?.end()
    if isRetired {
      removeTimer()
      table?.remove(self)
    } else {
      setTimer()
    }
  }

  /// Sets the timer for the end of the interval, unless it is set for an earlier time.
  private func setTimer() {
    let (time, number, former) = state.withLock { state in
      guard let end = state.rates.end, end < state.timerTime ?? .max || state.timerTime == nil
      else { return (Int64?.none, 0, TimerToken?.none) }
      state.timerTime = end
      state.timerNumber += 1
      return (end, state.timerNumber, state.token.take())
    }
    guard let time, let timers else { return }
    if let former { timers.remove(former) }
    let token = timers.add(self, at: time)
    let isKept = state.withLock { state in
      guard state.timerNumber == number, !state.isRetired else { return false }
      state.token = token
      return true
    }
    if !isKept { timers.remove(token) }
  }

  private func removeTimer() {
    if let token = state.withLock({ $0.token.take() }) { timers?.remove(token) }
  }
}
