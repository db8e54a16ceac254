/// A timer that moves to an earlier time when one is needed.
///
/// The owner of the timer decides about a move under a lock of its own, and makes the move outside of that.
final class MovingTimer: Sendable {
  /// The timers to remove and to add, in this order.
  struct Move {
    let former: TimerToken?
    /// The time of the timer to add, with its number.
    let next: (time: Int64, number: Int)?

    static var none: Move { Move(former: nil, next: nil) }
  }

  private struct State {
    var time: Int64?
    var number = 0
    /// The token, once the timer has been added.
    var token: TimerToken?
  }

  private let state = Locked(State())

  /// Moves the timer: to no time if nothing is to come, not at all if it comes early enough.
  func move(to time: Int64?) -> Move {
    state.withLock { state -> Move in
      if let time, let present = state.time, present <= time || isPlanted(.lateSchedule) {
        return .none
      }
      if time == nil, state.time == nil { return .none }
      state.time = time
      state.number += 1
      return Move(former: state.token.take(), next: time.map { ($0, state.number) })
    }
  }

  func fired(at now: Int64) {
    state.withLock { state in
      if let time = state.time, time <= now { (state.time, state.token) = (nil, nil) }
    }
  }

  /// Makes a move; does nothing without timers.
  ///
  /// - Parameter look: Called at the timer's time, which may have been needed earlier only; returns whether anything was
  ///   due.
  func make(_ move: Move, in timers: TimerQueue?, look: @escaping @Sendable () -> Bool) {
    guard let timers else { return }
    if let former = move.former { timers.remove(former) }
    guard let next = move.next else { return }
    let token = timers.addLook(at: next.time, look)
    if !keep(token, next.number) { timers.remove(token) }
  }

  /// Keeps the token of a timer that was added; false if it is to be removed, because it has moved or fired since.
  func keep(_ token: TimerToken, _ number: Int) -> Bool {
    state.withLock { state in
      guard number == state.number, state.time != nil else { return false }
      state.token = token
      return true
    }
  }
}
