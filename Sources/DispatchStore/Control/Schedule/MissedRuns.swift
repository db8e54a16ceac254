/// Whether a scheduled action runs late, if its time passed while no process ran, or the clock jumped over times of a
/// schedule that repeats.
public enum MissedRuns: Sendable, Hashable {
  /// Runs the action once, however many times were missed.
  case once
  /// Waits for the next time; an action that does not repeat does not run.
  case skip
}
