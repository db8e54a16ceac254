#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A dispatcher's clock: the system's, or another one with its type erased.
struct DispatcherClock: Sendable {
  /// Nil for the system's, which is read without a closure.
  private let elapsed: (@Sendable () -> Duration)?

  /// - Parameter clock: Nil for the system's.
  init(_ clock: (any Clock<Duration>)?) {
    elapsed = clock.map { Self.elapsed(of: $0) }
  }

  /// The nanoseconds since a moment that stays the same.
  var nanoseconds: Int64 {
    guard let elapsed else {
      // `DispatchTime` reads the same clock, with more instructions.
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
    return elapsed().wholeNanoseconds
  }

  private static func elapsed<Opened: Clock>(
    of clock: Opened
  ) -> @Sendable () -> Duration where Opened.Duration == Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }
}

extension Duration {
  /// In nanoseconds, as far as those can be represented; a quotient of durations is a rounded one.
  var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, exceeds) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflows || exceeds ? (seconds < 0 ? .min : .max) : sum
  }
}
