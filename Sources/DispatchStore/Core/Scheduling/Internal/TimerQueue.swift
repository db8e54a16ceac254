import Synchronization

/// The timers of one dispatcher, by its clock: each takes only memory, and all share one alarm.
final class TimerQueue: Sendable {
  private let state = Locked(State())
  let clock: DispatcherClock
  private let setter: Alarm.Setter
  private let followed = AtomicLazyReference<Continuations>()

  private struct State {
    var heap = TimerHeap<Int64, Timer>()
    /// The time of the earliest alarm that was set and has not come.
    var nextAlarm: Int64?
    /// Gives up the alarm that was set last; nil if it comes in any case.
    var unset: Alarm.Unset?
  }

  // Not bare closures, which a generic heap would box whenever one goes in or out.
  private struct Timer {
    /// Returns whether anything was due.
    let fire: @Sendable () -> Bool
  }

  /// The shortest time, in nanoseconds, between an alarm that came early and the next one.
  private static let pause: Int64 = 1_000_000

  init(_ clock: DispatcherClock, in world: (any SimulatedWorld)? = nil) {
    self.clock = clock
    setter = Alarm.make(clock, in: world)
  }

  deinit {
    let unset = state.withLock { $0.unset.take() }
    unset?()
  }

  /// The number of timers.
  var count: Int { state.withLock { $0.heap.count } }

  /// Whether the time of a timer has come, and its alarm has not.
  var isAnyDue: Bool {
    let now = clock.nanoseconds
    return state.withLock { $0.heap.earliest() ?? .max } <= now
  }

  /// Tells of alarms from now on: what is due goes on by itself.
  func follow(_ continuations: Continuations) { _ = followed.storeIfNil(continuations) }

  /// Adds a timer, and returns the token to remove it.
  ///
  /// - Parameters:
  ///   - deadline: The deadline, in nanoseconds of the dispatcher's clock.
  ///   - fire: Called on a thread of the clock, with no lock held.
  func add(at deadline: Int64, _ fire: @escaping @Sendable () -> Void) -> TimerToken {
    addLook(at: deadline) {
      fire()
      return true
    }
  }

  /// Adds a timer that may find nothing due.
  ///
  /// - Parameter look: Called on a thread of the clock, with no lock held; returns whether anything was due.
  func addLook(at deadline: Int64, _ look: @escaping @Sendable () -> Bool) -> TimerToken {
    let (token, former) = state.withLock { state -> (TimerToken, Alarm.Unset?) in
      (state.heap.insert(Timer(fire: look), at: deadline), setAlarm(&state))
    }
    former?()
    return token
  }

  /// Removes a timer; does nothing if it has fired.
  ///
  /// With the system's clock, the alarm still comes, finds nothing to do, and sets the next one.
  func remove(_ token: TimerToken) {
    let (timer, unset) = state.withLock { state -> (Timer?, Alarm.Unset?) in
      let timer = state.heap.remove(token)
      let unset = state.heap.count == 0 ? state.unset.take() : nil
      if unset != nil { state.nextAlarm = nil }
      return (timer, unset)
    }
    unset?()
    withExtendedLifetime(timer) {}
    // A test may wait for the timer if its time has come.
    followed.load()?.changed()
  }

  /// Fires the timers that are due, since an alarm has come.
  ///
  /// - Parameter time: The time of the alarm; nil for the last one that was set.
  /// - Returns: Whether anything was due.
  private func alarmCame(at time: Int64?) -> Bool {
    let continuations = followed.load()
    continuations?.begin()
    defer { continuations?.end() }
    let now = clock.nanoseconds
    yieldPoint(.fireTimers)
    let (due, former) = state.withLock { state -> ([Timer], Alarm.Unset?) in
      let time = time ?? state.nextAlarm ?? now
      // Nothing is left to give up, least of all this task if it is the clock's.
      if state.nextAlarm == time { (state.nextAlarm, state.unset) = (nil, nil) }
      let due = state.heap.takeDue(at: now)
      if !due.isEmpty, isPlanted(.lostAlarm) { return (due, nil) }
      // A clock may be early: the next alarm comes after a pause, so that this does not loop.
      return (due, setAlarm(&state, notBefore: now < time ? now + Self.pause : .min))
    }
    former?()
    var wasDue = false
    for timer in due where timer.fire() { wasDue = true }
    return wasDue
  }

  /// Sets the alarm for the earliest deadline, unless one comes before that.
  ///
  /// Called under the lock, so that alarms are set in the order in which they are decided on; calls no code of the
  /// program.
  ///
  /// - Returns: The closure that gives up a later alarm, to be called outside of the lock.
  private func setAlarm(_ state: inout State, notBefore: Int64 = .min) -> Alarm.Unset? {
    guard let earliest = state.heap.earliest() else { return nil }
    let time = max(earliest, notBefore)
    if let nextAlarm = state.nextAlarm, nextAlarm <= time { return nil }
    state.nextAlarm = time
    let former = state.unset
    state.unset = setter(time) { [weak self] in self?.alarmCame(at: $0) == true }
    return former
  }
}
