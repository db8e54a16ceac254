/// The tokens of one key of a rate limit; ends when it is full again.
final class RateBucket: Sendable {
  let key: TypedKey
  private let state: Locked<State>
  private let time: PacingTime
  private let counts: Locked<RateCounts>
  // Weak, since the limit owns it.
  private weak let table: KeyedTable<RateBucket>?

  private struct State {
    var tokens: RateBucketState<Dispatch>
    var timer = MovingTimer()
    var isRetired = false
  }

  init(
    _ key: TypedKey, _ rule: TokenRule, _ time: PacingTime, _ counts: Locked<RateCounts>,
    in table: KeyedTable<RateBucket>
  ) {
    (self.key, self.time, self.counts, self.table) = (key, time, counts, table)
    state = Locked(State(tokens: RateBucketState(rule)))
  }

  typealias Entry = RateBucketState<Dispatch>.Entry

  /// Takes a token for a dispatch; nil if the bucket is retired, and the caller must take another.
  func enter(_ dispatch: Dispatch, mayWait: Bool) -> Entry? {
    change { $0.tokens.enter(dispatch, at: $1, mayWait: mayWait) }?.result
  }

  /// The time until there is a token for a dispatch that comes now, in nanoseconds; nil if there is one.
  var timeLeft: Int64? {
    let now = time.clock.nanoseconds
    return state.withLock { $0.tokens.timeLeft(at: now) }
  }

  func isAwaited(by dispatch: Dispatch) -> Bool {
    state.withLock { $0.tokens.isWaiting(dispatch) }
  }

  /// Notes that a dispatch begins.
  func begin(_ dispatch: Dispatch) {
    if change({ state, _ in state.tokens.begin(dispatch) })?.result == true {
      counts.withLock { $0.admitted += 1 }
    }
  }

  /// Gives the token of a dispatch that does not begin, or its place, to the next one.
  func leave(_ dispatch: Dispatch) {
    change { $0.tokens.leave(dispatch, at: $1) }
  }

  /// Returns whether a dispatch got a token.
  private func timerFired() -> Bool {
    change { $0.timer.fired(at: $1) }?.hasGranted == true
  }

  /// Makes a transition; returns nil, without an effect, if the bucket is retired.
  @discardableResult
  private func change<Result>(
    _ body: (inout State, _ now: Int64) -> Result
  ) -> (result: Result, hasGranted: Bool)? {
    yieldPoint(.takeToken, key.description)
    let now = time.clock.nanoseconds
    let changed = state.withLock { state -> (Result, [Dispatch], MovingTimer.Move, Bool)? in
      if state.isRetired { return nil }
      let before = state.tokens.waitingCount
      let result = body(&state, now)
      let granted = state.tokens.settle(at: now)
      let difference = state.tokens.waitingCount - before
      if difference != 0 { counts.withLock { $0.waiting += difference } }
      state.isRetired = state.tokens.isIdle
      return (result, granted, state.timer.move(to: state.tokens.next), state.isRetired)
    }
    guard let (result, granted, move, isRetired) = changed else { return nil }
    for dispatch in granted { dispatch.gateMayOpen() }
    time.timers.apply(move) {
      self.timerFired()
    } keep: { token, number in
      state.withLock { $0.timer.keep(token, number) }
    }
    if isRetired { table?.remove(self, of: key) }
    return (result, !granted.isEmpty)
  }
}

/// The clock and the timers of the first dispatcher that uses a limit.
///
/// Kept beyond that dispatcher's life, since others may share the limit.
struct PacingTime: Sendable {
  let clock: DispatcherClock
  let timers: TimerQueue

  init(of dispatcher: Dispatcher) {
    (clock, timers) = (dispatcher.clock, dispatcher.timers)
  }
}

/// The counts of a rate limit, over all of its keys.
struct RateCounts {
  var admitted = 0
  var rejected = 0
  var waiting = 0
}
