import Dispatch

/// Calls back at one time of a clock, or at several if an earlier one is set later.
class AlarmSource: @unchecked Sendable {
  // because a subclass says why
  /// Gets the time of the alarm, nil for the time that was set last; returns whether anything was due.
  typealias Callback = @Sendable (Int64?) -> Bool

  /// Makes the source for a dispatcher's clock.
  static func make(_ clock: DispatcherClock, in world: (any SimulatedWorld)?) -> AlarmSource {
    if let world {
      return CallAlarm { time, body in
        world.call(after: .nanoseconds(time - clock.nanoseconds)) { world.run(.job) { _ = body() } }
        return nil
      }
    }
    if let call = clock.call {
      return CallAlarm { time, body in call(time) { DispatchContext.outside(body) } }
    }
    guard let sleep = clock.sleep else { return SystemAlarm() }
    return CallAlarm { time, body in
      let task = Task.detached {
        await sleep(time)
        if !Task.isCancelled { _ = body() }
      }
      return { task.cancel() }
    }
  }

  /// A closure that gives up an alarm, to be called outside of the lock.
  typealias Unset = @Sendable () -> Void

  /// Sets an alarm; a time that was set before may still call back, or not.
  ///
  /// Called under a lock, for earlier and earlier times, or after the last alarm has called back.
  ///
  /// - Returns: The closure that gives up a former alarm; nil if it may still come.
  func set(at time: Int64, _ body: @escaping Callback) -> Unset? {
    fatalError("AlarmSource is abstract.")
  }

  /// Returns the closure that gives up the alarm; nil if it still comes.
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
    timer.setEventHandler { _ = body(nil) }
    return timer
  }

  deinit {
    timer?.cancel()
  }
}

/// An alarm by another clock: one call back, which may be given up.
private final class CallAlarm: AlarmSource, @unchecked Sendable {
  // because the lock under which alarms are set guards `former`, and `call` is a constant
  private let call: DispatcherClock.Call
  private var former: Unset?

  init(_ call: @escaping DispatcherClock.Call) {
    self.call = call
  }

  override func set(at time: Int64, _ body: @escaping Callback) -> Unset? {
    let former = former
    self.former = call(time) { body(time) }
    return former
  }

  override func unset() -> Unset? { former.take() }

  deinit {
    former?()
  }
}
