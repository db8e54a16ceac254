/// Decides when the next of many frames may be shown.
///
/// Between two frames there is at least the interval, and, where frames take long to make, at least nine times what the
/// last one took: so the replay keeps nine tenths of the time, however many keys a frame has to look at.
struct RateLimiter {
  /// Nanoseconds.
  let interval: UInt64
  /// Before this time of the clock no frame is shown.
  private(set) var earliest: UInt64 = 0

  init(interval: UInt64) {
    self.interval = interval
  }

  /// How long the next frame has to wait, in nanoseconds.
  func delay(at now: UInt64) -> UInt64 {
    earliest > now ? earliest - now : 0
  }

  /// A frame was made and shown between these times.
  mutating func frameWasShown(from start: UInt64, to end: UInt64) {
    earliest = end + max(interval, 9 * (end - start))
  }
}
