/// Work that takes a processor's time, touches no memory, and reads no clock.
public enum BusyWork {
  private static let perMicrosecond = calibrate()

  /// The iterations that take this long on this machine, undisturbed.
  public static func iterations(microseconds: Int) -> Int {
    microseconds * perMicrosecond
  }

  /// Runs a chain of dependent steps.
  @inline(never)
  public static func run(_ iterations: Int) {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    for _ in 0..<iterations {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
    }
    keep(state)
  }

  // Without this the optimizer could remove the whole chain.
  @inline(never) @_optimize(none)
  private static func keep(_ value: UInt64) {}

  /// The fastest of several tries: the one least disturbed.
  private static func calibrate() -> Int {
    let iterations = 100_000
    let fastest = (0..<20).map { _ in Stopwatch.nanoseconds { run(iterations) } }.min()!
    return max(1, Int(Double(iterations) * 1000 / fastest))
  }
}
