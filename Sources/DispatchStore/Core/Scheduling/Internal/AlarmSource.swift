import Dispatch

/// Calls back at one time of a clock, or at several if an earlier one is set later.
class AlarmSource: @unchecked Sendable {
  // because a subclass says why
  /// Gets the time of the alarm; nil for the time that was set last.
  typealias Callback = @Sendable (Int64?) -> Void

  /// Makes the source for a dispatcher's clock.
  static func make(_ clock: DispatcherClock, in world: (any SimulatedWorld)?) -> AlarmSource {
    if let world { return WorldAlarm(world, clock) }
    return clock.sleep.map(ClockAlarm.init) ?? SystemAlarm()
  }

  /// Sets an alarm; a time that was set before may still call back, or not.
  ///
  /// Called under a lock, for earlier and earlier times, or after the last alarm has called back.
  ///
  /// - Returns: The task that sleeps until a former time, to be cancelled outside of the lock.
  func set(at time: Int64, _ body: @escaping Callback) -> Task<Void, Never>? {
    fatalError("AlarmSource is abstract.")
  }

  /// Gives up the task that sleeps until the alarm, to be cancelled outside of the lock; nil if the alarm still
  /// comes.
  func unset() -> Task<Void, Never>? { nil }
}

/// An alarm by the system's clock: one timer of the system, made with the first alarm.
private final class SystemAlarm: AlarmSource, @unchecked Sendable {
  // because the lock under which alarms are set guards `timer`
  private var timer: (any DispatchSourceTimer)?
  /// The latest time: the highest bits of a `DispatchTime` encode its clock.
  private static let latest: Int64 = 1 << 60

  override func set(at time: Int64, _ body: @escaping Callback) -> Task<Void, Never>? {
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

  override func set(at time: Int64, _ body: @escaping Callback) -> Task<Void, Never>? {
    let former = task
    task = Task.detached { [sleep] in
      await sleep(time)
      if !Task.isCancelled { body(time) }
    }
    return former
  }

  override func unset() -> Task<Void, Never>? { task.take() }

  deinit {
    task?.cancel()
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

  override func set(at time: Int64, _ body: @escaping Callback) -> Task<Void, Never>? {
    world.call(after: .nanoseconds(time - clock.nanoseconds)) { [world] in
      world.run(.job) { body(time) }
    }
    return nil
  }
}
