/// Dispatches actions when they are due, however long those before them take.
///
/// The calling thread spins until the next arrival, so that no arrival is late by the time to wake a thread. A latency
/// counts from the intended arrival, so that a delay of the dispatching thread shows.
public enum OpenLoop {
  /// Returns the latencies when all actions have ended.
  ///
  /// - Parameters:
  ///   - arrivals: When to dispatch.
  ///   - action: Dispatches the action of an index, and calls `ended` at its end, on any thread.
  public static func latencies(
    _ arrivals: Arrivals, _ action: (_ index: Int, _ ended: @escaping @Sendable () -> Void) -> Void
  ) -> Latencies {
    let completions = Completions(arrivals.offsets.count)
    let start = Stopwatch.now
    for (index, offset) in arrivals.offsets.enumerated() {
      while Stopwatch.now < start + offset {}
      action(index) { completions.record(index) }
    }
    completions.waitForAll()
    return Latencies(completions.latencies(since: start, arrivals))
  }
}
