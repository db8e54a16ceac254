/// What is called when a timer's deadline has come.
protocol TimerTarget: AnyObject, Sendable {
  /// On a thread of the clock's, with no lock held.
  func timerFired()
}

/// The timers of one dispatcher, by its clock: memory for each, one alarm for all of them.
final class TimerQueue: Sendable {
  private let state: Locked<State>
  private let clock: DispatcherClock

  private struct State {
    var heap = TimerHeap<any TimerTarget>()
    let alarm: AlarmSource
    /// When the earliest alarm comes that was set and has not come.
    var nextAlarm: Int64?
  }

  /// The least time between an alarm that came early and the next one.
  private static let pause: Int64 = 1_000_000

  init(_ clock: DispatcherClock, in world: (any SimulatedWorld)? = nil) {
    state = Locked(State(alarm: AlarmSource.make(clock, in: world)))
    self.clock = clock
  }

  /// How many timers there are.
  var count: Int { state.withLock { $0.heap.count } }

  /// Adds a timer; the token to remove it.
  ///
  /// - Parameter deadline: In nanoseconds of the dispatcher's clock.
  func add(_ target: any TimerTarget, at deadline: Int64) -> TimerToken {
    let (token, former) = state.withLock { state -> (TimerToken, Task<Void, Never>?) in
      (state.heap.insert(target, at: deadline), setAlarm(&state))
    }
    former?.cancel()
    return token
  }

  /// Removes a timer; without effect if it has fired.
  ///
  /// By the system's clock its alarm still comes, finds nothing to do, and sets the next one.
  func remove(_ token: TimerToken) {
    let (target, alarm) = state.withLock { state -> ((any TimerTarget)?, Task<Void, Never>?) in
      let target = state.heap.remove(token)
      let alarm = state.heap.count == 0 ? state.alarm.unset() : nil
      if alarm != nil { state.nextAlarm = nil }
      return (target, alarm)
    }
    alarm?.cancel()
    withExtendedLifetime(target) {}
  }

  /// An alarm has come.
  private func alarmCame(at time: Int64) {
    let now = clock.nanoseconds
    yieldPoint(.fireTimers)
    let (due, former) = state.withLock { state -> ([any TimerTarget], Task<Void, Never>?) in
      if state.nextAlarm == time { state.nextAlarm = nil }
      let due = state.heap.takeDue(at: now)
      if !due.isEmpty, isPlanted(.lostAlarm) { return (due, nil) }
      // A clock may be early: the next alarm comes after a pause, so that this is no loop.
      return (due, setAlarm(&state, notBefore: now < time ? now + Self.pause : .min))
    }
    former?.cancel()
    for target in due { target.timerFired() }
  }

  /// Sets the alarm for the earliest deadline, unless one comes before that.
  ///
  /// Under the lock, so that alarms are set in the order in which that is decided; it calls no code of the program.
  ///
  /// - Returns: The task of an alarm that comes later, to be cancelled outside of the lock.
  private func setAlarm(_ state: inout State, notBefore: Int64 = .min) -> Task<Void, Never>? {
    guard let earliest = state.heap.earliest() else { return nil }
    let time = max(earliest, notBefore)
    if let nextAlarm = state.nextAlarm, nextAlarm <= time { return nil }
    state.nextAlarm = time
    return state.alarm.set(at: time) { [weak self] in self?.alarmCame(at: time) }
  }
}
