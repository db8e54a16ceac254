import Dispatch

/// The alarm of a clock, which calls back at one time, or at several if an earlier one is set later.
enum Alarm {
  /// Gets the time of the alarm, nil for the time that was set last; returns whether anything was due.
  typealias Callback = @Sendable (Int64?) -> Bool

  /// A closure that gives up an alarm, to be called outside of the lock.
  typealias Unset = @Sendable () -> Void

  /// Sets an alarm; a time that was set before may still call back, or not.
  ///
  /// Called under a lock, for earlier and earlier times, or after the last alarm has called back. Returns the closure
  /// that gives up the alarm; nil if it comes in any case.
  typealias Setter = @Sendable (_ time: Int64, _ body: @escaping Callback) -> Unset?

  /// Makes the alarm of a dispatcher's clock.
  static func make(_ clock: DispatcherClock, in world: (any SimulatedWorld)?) -> Setter {
    if let world {
      return { time, body in
        world.call(after: .nanoseconds(time - clock.nanoseconds)) {
          world.run(.job) { _ = body(time) }
        }
        return nil
      }
    }
    if let (dated, start) = clock.dated {
      let last = Locked<TimerToken?>(nil)
      return { time, body in
        let alarm = last.withLock { last in
          last = dated.alarm(at: start.addingClamped(time), inPlaceOf: last) {
            DispatchContext.outside { body(time) }
          }
          return last
        }
        guard let alarm else { return nil }
        return { dated.giveUp(alarm) }
      }
    }
    if let sleep = clock.sleep {
      return { time, body in
        let task = Task.detached {
          await sleep(time)
          if !Task.isCancelled { _ = body(time) }
        }
        return { task.cancel() }
      }
    }
    let timer = SystemTimer()
    return { time, body in
      timer.set(at: time, body)
      return nil
    }
  }
}

/// A timer of the system, made with the first alarm.
private final class SystemTimer: @unchecked Sendable {
  // because the lock under which alarms are set guards `timer`
  private var timer: (any DispatchSourceTimer)?
  /// The latest time: the highest bits of a `DispatchTime` encode its clock.
  private static let latest: Int64 = 1 << 60

  func set(at time: Int64, _ body: @escaping Alarm.Callback) {
    let timer = self.timer ?? Self.make(body)
    // Uses the dispatcher's clock, without the leeway of a tenth that `asyncAfter` takes.
    timer.schedule(
      deadline: DispatchTime(uptimeNanoseconds: UInt64(min(max(time, 1), Self.latest))),
      leeway: .nanoseconds(0))
    if self.timer == nil { timer.activate() }
    self.timer = timer
  }

  /// Makes the timer with a handler for all times, since replacing one is not ordered with the calls for earlier times.
  private static func make(_ body: @escaping Alarm.Callback) -> any DispatchSourceTimer {
    // A queue of its own has a thread at once, even if the threads of the global queues block.
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "DispatchStore.timers"))
    timer.setEventHandler { _ = body(nil) }
    return timer
  }

  deinit {
    timer?.cancel()
  }
}
