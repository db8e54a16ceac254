/// How a repeating schedule treats the runs that it missed because the clock has jumped over several of its times.
public enum MissedRuns: Sendable, Hashable {
  /// Dispatches once for all the times that were missed.
  case once
  /// Dispatches nothing until the next time.
  case skip
}
