import Foundation

/// A dispatcher's clock: the system's, or another with its type erased.
///
/// The system's times count from one moment for all instances. Those of another clock count from when the instance was
/// made, so they differ between two instances, even of the same clock.
final class DispatcherClock: Sendable {
  /// The time since the clock's start; nil for the system's clock, which is read without a closure.
  private let elapsed: (@Sendable () -> Duration)?
  /// Sleeps until a time in nanoseconds, or until the task is cancelled; nil for the system's clock, and for one that
  /// calls back.
  let sleep: Sleep?
  /// The clock itself.
  let base: any Clock<Duration>
  /// A clock that has a date of its own and calls back, with its time when this instance was made.
  let dated: (clock: any DatedClock, start: Int64)?
  /// The date when this instance was made.
  private let startDate = DispatcherClock.systemUnixNanoseconds

  typealias Sleep = @Sendable (_ time: Int64) async -> Void

  /// - Parameter clock: The clock, or nil for the system's.
  init(_ clock: (any Clock<Duration>)?) {
    base = clock ?? ContinuousClock()
    if let dated = clock as? any DatedClock {
      // Read once for both, since another thread may advance the clock.
      let start = dated.elapsedNanoseconds
      self.dated = (dated, start)
      elapsed = { .nanoseconds(dated.elapsedNanoseconds - start) }
      sleep = nil
    } else {
      dated = nil
      (elapsed, sleep) = clock.map { DispatcherClock.timing(of: $0) } ?? (nil, nil)
    }
  }

  /// The nanoseconds since a fixed moment.
  var nanoseconds: Int64 {
    guard let elapsed else {
      // The clock of `DispatchTime`, by which alarms are set; on Darwin, it does not count the time asleep.
      #if canImport(Darwin)
        return Int64(clock_gettime_nsec_np(CLOCK_UPTIME_RAW))
      #else
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
      #endif
    }
    return elapsed().wholeNanoseconds
  }

  /// The nanoseconds since 1970: by the system's date, by the clock's own, or counted by a clock that has none.
  var unixNanoseconds: Int64 {
    if let dated { return dated.clock.unixNanoseconds }
    guard let elapsed else { return Self.systemUnixNanoseconds }
    return startDate.addingClamped(elapsed().wholeNanoseconds)
  }

  /// Whether the date may jump without telling an observer: only the system's does.
  var hasSilentJumps: Bool { elapsed == nil }

  /// Whether its times are those of another instance.
  func hasTimes(of other: DispatcherClock) -> Bool {
    self === other || elapsed == nil && other.elapsed == nil
  }

  /// Calls an observer after each jump of the date, as long as the observer exists.
  func add(_ observer: any DateObserver) { dated?.clock.add(observer) }

  /// The milliseconds since 1970, of that date.
  var unixMilliseconds: Int64 { unixNanoseconds / 1_000_000 }

  private static var systemUnixNanoseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  private static func timing<Opened: Clock>(
    of clock: Opened
  ) -> (@Sendable () -> Duration, Sleep) where Opened.Duration == Duration {
    let start = clock.now
    return (
      { start.duration(to: clock.now) },
      { try? await clock.sleep(until: start.advanced(by: .nanoseconds($0)), tolerance: nil) }
    )
  }
}

/// A clock that has a date of its own.
package protocol DatedClock: Sendable {
  /// The nanoseconds since 1970.
  var unixNanoseconds: Int64 { get }
  /// The nanoseconds since the clock's start.
  var elapsedNanoseconds: Int64 { get }
  /// Calls back once the clock has come to a time since its start, never before this returns.
  ///
  /// Called under a lock.
  ///
  /// - Parameters:
  ///   - former: An alarm that is given up in the same step, so that nobody finds both, or none.
  ///   - body: Returns whether anything was due.
  /// - Returns: The alarm, to be given up; nil if its time has come.
  func alarm(
    at time: Int64, inPlaceOf former: TimerToken?, _ body: @escaping @Sendable () -> Bool
  ) -> TimerToken?
  /// Gives an alarm up; does nothing if it has called back.
  func giveUp(_ alarm: TimerToken)
  /// Calls an observer after each jump of the date, as long as the observer exists.
  func add(_ observer: any DateObserver)
}

/// An object that is told when a date jumps.
package protocol DateObserver: AnyObject, Sendable {
  /// Called on the thread that has made the date jump, with no lock held.
  func dateJumped()
}

extension Duration {
  /// The duration in whole nanoseconds, clamped; a quotient of durations would be a rounded number.
  package var wholeNanoseconds: Int64 {
    Int64(clamping: attoseconds / 1_000_000_000)
  }
}

extension Int64 {
  /// Returns the sum, clamped to the range that can be represented.
  package func addingClamped(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other < 0 ? .min : .max) : sum
  }
}
