/// What is called when a timer's deadline has come.
protocol TimerTarget: AnyObject, Sendable {
  /// On a thread of the clock's, with no lock held.
  func timerFired()
}

/// The timers of one dispatcher, by its clock: memory for each, one alarm for all of them.
final class TimerQueue: Sendable {
  private let state: Locked<State>

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

  private let clock: DispatcherClock

  /// How many timers there are.
  var count: Int { state.withLock { $0.heap.count } }

  /// Adds a timer; the token to remove it.
  ///
  /// - Parameter deadline: In nanoseconds of the dispatcher's clock.
  func add(_ target: any TimerTarget, at deadline: Int64) -> TimerToken {
    add(target, at: deadline, now: clock.nanoseconds)
  }

  /// The same for a caller that has read the clock.
  func add(_ target: any TimerTarget, at deadline: Int64, now: Int64) -> TimerToken {
    state.withLock { state in
      let token = state.heap.insert(target, at: deadline)
      // An alarm that comes before sets the next one.
      if deadline < state.nextAlarm ?? .max { setAlarm(&state, now: now) }
      return token
    }
  }

  /// Removes a timer; without effect where it has fired.
  ///
  /// Its alarm still comes, finds nothing to do, and sets the next one.
  func remove(_ token: TimerToken) {
    let target = state.withLock { $0.heap.remove(token) }
    withExtendedLifetime(target) {}
  }

  /// An alarm has come.
  private func alarmCame(at time: Int64) {
    let now = clock.nanoseconds
    yieldPoint(.fireTimers)
    let due = state.withLock { state in
      if state.nextAlarm == time { state.nextAlarm = nil }
      let due = state.heap.takeDue(at: now)
      // A clock may be early: the next alarm comes after a pause, so that this is no loop.
      if due.isEmpty || !isPlanted(.lostAlarm) {
        setAlarm(&state, now: now, notBefore: now < time ? now + Self.pause : .min)
      }
      return due
    }
    for target in due { target.timerFired() }
  }

  /// Sets the alarm for the earliest deadline, unless one comes before that.
  ///
  /// Under the lock, so that alarms are set in the order in which that is decided; it calls no code of the program.
  private func setAlarm(_ state: inout State, now: Int64, notBefore: Int64 = .min) {
    guard let earliest = state.heap.earliest() else { return }
    let time = max(earliest, notBefore)
    if let nextAlarm = state.nextAlarm, nextAlarm <= time { return }
    state.nextAlarm = time
    state.alarm.set(at: time, now: now) { [weak self] in self?.alarmCame(at: time) }
  }
}
