private import Dispatch

/// Reads the monotonic clock.
public enum Stopwatch {
  /// The time now, in nanoseconds.
  public static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  /// How long this took.
  public static func nanoseconds(_ work: () -> Void) -> Double {
    let start = now
    work()
    return Double(now - start)
  }
}
