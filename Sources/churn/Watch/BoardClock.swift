/// The clock of the board.
protocol BoardClock: Sendable {
  /// The time in nanoseconds, of a clock that only goes forward.
  var now: UInt64 { get }

  /// Waits; no longer than until the calling task is cancelled.
  func sleep(_ nanoseconds: UInt64) async
}

/// The clock of the system.
struct SystemClock: BoardClock {
  var now: UInt64 { Stopwatch.now }

  func sleep(_ nanoseconds: UInt64) async {
    try? await Task.sleep(nanoseconds: nanoseconds)
  }
}
