import Dispatch

/// Calls back at one time of a clock, or at several if an earlier one is set later.
class AlarmSource: @unchecked Sendable {
  // because a subclass says why
  /// Gets the time of the alarm; nil for the time that was set last.
  typealias Callback = @Sendable (Int64?) -> Void

  /// Makes the source for a dispatcher's clock.
  static func make(_ clock: DispatcherClock, in world: (any SimulatedWorld)?) -> AlarmSource {
    if let world { return WorldAlarm(world, clock) }
    if let call = clock.call { return CallAlarm(call) }
    return clock.sleep.map(ClockAlarm.init) ?? SystemAlarm()
  }

  /// Gives up an alarm that was set, outside of the lock.
  typealias Unset = @Sendable () -> Void

  /// Sets an alarm; a time that was set before may still call back, or not.
  ///
  /// Called under a lock, for earlier and earlier times, or after the last alarm has called back.
  ///
  /// - Returns: Gives up a former alarm.
  func set(at time: Int64, _ body: @escaping Callback) -> Unset? {
    fatalError("AlarmSource is abstract.")
  }

  /// Returns what gives up the alarm; nil if it still comes.
  func unset() -> Unset? { nil }
}

/// An alarm by the system's clock: one timer of the system, made with the first alarm.
private final class SystemAlarm: AlarmSource, @unchecked Sendable {
  // because the lock under which alarms are set guards `timer`
  private var timer: (any DispatchSourceTimer)?
  /// The latest time: the highest bits of a `DispatchTime` encode its clock.
  private static let latest: Int64 = 1 << 60

  override func set(at time: Int64, _ body: @escaping Callback) -> Unset? {
    let timer = self.timer ?? Self.make(body)
    // Uses the dispatcher's clock, without the leeway of a tenth that `asyncAfter` takes.
    timer.schedule(
      deadline: DispatchTime(uptimeNanoseconds: UInt64(min(max(time, 1), Self.latest))),
      leeway: .nanoseconds(0))
    if self.timer == nil { timer.activate() }
    self.timer = timer
    return nil
  }

  /// Makes the timer with a handler for all times, since replacing one is not ordered with the calls for earlier times.
  private static func make(_ body: @escaping Callback) -> any DispatchSourceTimer {
    // A queue of its own has a thread at once, even if the threads of the global queues block.
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "DispatchStore.timers"))
    timer.setEventHandler { body(nil) }
    return timer
  }

  deinit {
    timer?.cancel()
  }
}

/// An alarm by the program's clock: one task that sleeps on the clock until the next alarm.
private final class ClockAlarm: AlarmSource, @unchecked Sendable {
  // because the lock under which alarms are set guards `task`, and `sleep` is a constant
  private let sleep: DispatcherClock.Sleep
  private var task: Task<Void, Never>?

  init(_ sleep: @escaping DispatcherClock.Sleep) {
    self.sleep = sleep
  }

  override func set(at time: Int64, _ body: @escaping Callback) -> Unset? {
    let former = unset()
    task = Task.detached { [sleep] in
      await sleep(time)
      if !Task.isCancelled { body(time) }
    }
    return former
  }

  override func unset() -> Unset? {
    guard let task = task.take() else { return nil }
    return { task.cancel() }
  }

  deinit {
    task?.cancel()
  }
}

/// An alarm by a clock that calls back itself, on the thread that advances it.
private final class CallAlarm: AlarmSource, @unchecked Sendable {
  // because the lock under which alarms are set guards `former`, and `call` is a constant
  private let call: DispatcherClock.Call
  private var former: Unset?

  init(_ call: @escaping DispatcherClock.Call) {
    self.call = call
  }

  override func set(at time: Int64, _ body: @escaping Callback) -> Unset? {
    let former = former
    self.former = call(time) { DispatchContext.outside { body(time) } }
    return former
  }

  override func unset() -> Unset? { former.take() }

  deinit {
    former?()
  }
}

/// An alarm by the clock of a simulated world, which calls back on one of its threads.
private final class WorldAlarm: AlarmSource, @unchecked Sendable {
  // because `world` and `clock` are constants
  private let world: any SimulatedWorld
  private let clock: DispatcherClock

  init(_ world: any SimulatedWorld, _ clock: DispatcherClock) {
    (self.world, self.clock) = (world, clock)
  }

  override func set(at time: Int64, _ body: @escaping Callback) -> Unset? {
    world.call(after: .nanoseconds(time - clock.nanoseconds)) { [world] in
      world.run(.job) { body(time) }
    }
    return nil
  }
}
