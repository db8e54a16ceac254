/// The tokens of one key of a rate limit; ends when it is full again.
final class RateBucket: Sendable {
  private let place: KeyedPlace
  private let state: Locked<State>
  private let timer = MovingTimer()
  private let timers: TimerQueue
  private let counts: Locked<RateCounts>

  private struct State {
    var tokens: RateBucketState<Dispatch>
    /// The bucket itself, which this keeps alive until it is full again.
    var kept: RateBucket?
  }

  init(
    _ place: KeyedPlace, _ rule: TokenRule, _ timers: TimerQueue, _ counts: Locked<RateCounts>
  ) {
    (self.place, self.timers, self.counts) = (place, timers, counts)
    state = Locked(State(tokens: RateBucketState(rule)))
  }

  typealias Entry = RateBucketState<Dispatch>.Entry

  /// Takes a token for a dispatch.
  func enter(_ dispatch: Dispatch, mayWait: Bool) -> Entry {
    change { $0.tokens.enter(dispatch, at: $1, mayWait: mayWait) }.result
  }

  /// The time until there is a token for a dispatch that comes now, in nanoseconds; nil if there is one.
  var timeLeft: Int64? {
    let now = timers.clock.nanoseconds
    return state.withLock { $0.tokens.timeLeft(at: now) }
  }

  func isAwaited(by dispatch: Dispatch) -> Bool {
    state.withLock { $0.tokens.isWaiting(dispatch) }
  }

  /// Notes that a dispatch begins.
  func begin(_ dispatch: Dispatch) {
    if change({ state, _ in state.tokens.begin(dispatch) }).result {
      counts.withLock { $0.admitted += 1 }
    }
  }

  /// Gives the token of a dispatch that does not begin, or its place, to the next one.
  func leave(_ dispatch: Dispatch) {
    change { $0.tokens.leave(dispatch, at: $1) }
  }

  /// Returns whether a dispatch got a token.
  private func timerFired() -> Bool {
    change { _, now in timer.fired(at: now) }.hasGranted
  }

  /// Makes a transition; returns its result, and whether a dispatch got a token.
  @discardableResult
  private func change<Result>(
    _ body: (inout State, _ now: Int64) -> Result
  ) -> (result: Result, hasGranted: Bool) {
    yieldPoint(.takeToken, place.key.description)
    let now = timers.clock.nanoseconds
    typealias Changed = (Result, [Dispatch], MovingTimer.Move)
    let (result, granted, move) = state.withLock { state -> Changed in
      let before = state.tokens.waitingCount
      let result = body(&state, now)
      let granted = state.tokens.settle(at: now)
      let difference = state.tokens.waitingCount - before
      if difference != 0 { counts.withLock { $0.waiting += difference } }
      state.kept = state.tokens.isIdle ? nil : self
      return (result, granted, timer.move(to: state.tokens.next))
    }
    for dispatch in granted { dispatch.gateMayOpen() }
    timer.make(move, in: timers) { self.timerFired() }
    return (result, !granted.isEmpty)
  }
}

/// The counts of a rate limit, over all of its keys.
struct RateCounts {
  var admitted = 0
  var rejected = 0
  var waiting = 0
}
