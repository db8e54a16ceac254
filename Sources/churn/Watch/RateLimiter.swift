/// A limiter that decides when the next of many frames may be shown.
///
/// Between two frames there is at least the interval. If frames take long to make, the pause is at least nine times
/// the last frame's time. So the replay keeps nine tenths of the time, however many keys a frame has to look at.
struct RateLimiter {
  /// The interval in nanoseconds.
  let interval: UInt64
  /// The time of the clock before which no frame is shown.
  private(set) var earliest: UInt64 = 0

  init(interval: UInt64) {
    self.interval = interval
  }

  /// The time until the next frame may be shown, in nanoseconds.
  func delay(at now: UInt64) -> UInt64 {
    earliest > now ? earliest - now : 0
  }

  /// Notes that a frame was made and shown between these times.
  mutating func frameWasShown(from start: UInt64, to end: UInt64) {
    earliest = end + max(interval, 9 * (end - start))
  }
}
