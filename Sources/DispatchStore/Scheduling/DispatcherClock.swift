/// What a dispatcher measures time with: any clock, without its type.
struct DispatcherClock: Sendable {
  /// The time since a moment that stays the same.
  let now: @Sendable () -> Duration

  static let continuous = DispatcherClock(ContinuousClock())

  init(_ clock: any Clock<Duration>) {
    self = Self.open(clock)
  }

  private init(now: @escaping @Sendable () -> Duration) {
    self.now = now
  }

  private static func open<Opened: Clock>(
    _ clock: Opened
  ) -> DispatcherClock where Opened.Duration == Duration {
    let start = clock.now
    return DispatcherClock { start.duration(to: clock.now) }
  }
}
