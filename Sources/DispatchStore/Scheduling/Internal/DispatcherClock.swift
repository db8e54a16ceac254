import Dispatch

/// What a dispatcher measures time with: the system's clock, or another one, without its type.
struct DispatcherClock: Sendable {
  /// Nil for the system's, which need not be called through a closure.
  private let elapsed: (@Sendable () -> Duration)?

  /// - Parameter clock: Nil for the system's.
  init(_ clock: (any Clock<Duration>)?) {
    elapsed = clock.map { Self.elapsed(of: $0) }
  }

  /// The nanoseconds since a moment that stays the same.
  var nanoseconds: Int64 {
    guard let elapsed else { return Int64(DispatchTime.now().uptimeNanoseconds) }
    return Int64(elapsed() / .nanoseconds(1))
  }

  private static func elapsed<Opened: Clock>(
    of clock: Opened
  ) -> @Sendable () -> Duration where Opened.Duration == Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }
}
