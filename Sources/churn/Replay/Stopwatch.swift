import Dispatch

/// A stopwatch that adds up the time of some work, without the pauses between.
struct Stopwatch {
  private(set) var nanoseconds: UInt64 = 0

  /// The monotonic clock, in nanoseconds.
  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  var seconds: Double { Double(nanoseconds) / 1e9 }

  mutating func time<Result>(_ work: () throws -> Result) rethrows -> Result {
    let start = Self.now
    defer { nanoseconds += Self.now - start }
    return try work()
  }
}
