/// A timer that moves to an earlier time when one is needed, without threads.
///
/// The caller adds and removes the timers outside of its lock.
struct MovingTimer {
  /// The timers to remove and to add, in this order.
  struct Move {
    let former: TimerToken?
    /// The time of the timer to add, with its number.
    let next: (time: Int64, number: Int)?

    static var none: Move { Move(former: nil, next: nil) }
  }

  private var time: Int64?
  private var number = 0
  /// The token, once the timer has been added.
  private var token: TimerToken?

  /// Moves the timer: to no time if nothing is to come, not at all if it comes early enough.
  mutating func move(to time: Int64?) -> Move {
    if let time, let present = self.time, present <= time || isPlanted(.lateSchedule) {
      return .none
    }
    if time == nil, self.time == nil { return .none }
    self.time = time
    number += 1
    return Move(former: token.take(), next: time.map { ($0, number) })
  }

  /// Keeps the token of a timer that was added; false if it is to be removed, because it has moved or fired since.
  mutating func keep(_ token: TimerToken, _ number: Int) -> Bool {
    guard number == self.number, time != nil else { return false }
    self.token = token
    return true
  }

  mutating func fired(at now: Int64) {
    if let time, time <= now { (self.time, token) = (nil, nil) }
  }
}

extension TimerQueue {
  /// Moves a timer, outside of its owner's lock.
  ///
  /// - Parameters:
  ///   - look: Called at the timer's time, which may have been needed earlier only; returns whether anything was due.
  ///   - keep: Keeps the new timer's token; false if the timer has moved or fired since.
  func apply(
    _ move: MovingTimer.Move, look: @escaping @Sendable () -> Bool,
    keep: (TimerToken, Int) -> Bool
  ) {
    if let former = move.former { remove(former) }
    guard let next = move.next else { return }
    let token = addLook(at: next.time, look)
    if !keep(token, next.number) { remove(token) }
  }
}
