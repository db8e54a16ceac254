extension DispatchOptions {
  /// Runs a failed store again, after a pause.
  ///
  /// Only the failed store runs again, by another operation of its reducer. Stores that wait for it wait until its
  /// last attempt, and finished stores do not run again. `willDispatch` and `didDispatch` are called for each
  /// attempt, hooks of whole dispatches and the completion once. Commits of a failed attempt stay.
  ///
  /// During the pause no thread is held (with `.sync` the caller's blocks), and the lane stays held. `cancel()`, or a
  /// time limit that passes, ends a pause at once, and no attempt follows. The store then ends as cancelled, or as
  /// its last attempt did if it runs regardless. Each action of a sequence is retried by itself.
  ///
  /// A veto, a cancelled operation, and a store that was not started are not retried. The last attempt's outcome is
  /// the store's; `StoreResult.attemptCount` says how many attempts there were. Cost: for each pause, an entry
  /// among the dispatcher's timers.
  ///
  /// - Parameters:
  ///   - attempts: The maximum number of attempts, the first one included.
  ///   - backoff: The pauses between them, by the dispatcher's clock.
  ///   - isRetried: Whether another attempt may follow an error. By default, each error but a `DispatchError` and a
  ///     `CancellationError` is retried. Called in the dispatch, before the attempt's `didDispatch`.
  /// - Precondition: `attempts` is positive.
  public static func retry(
    attempts: Int, backoff: RetryBackoff = .none,
    where isRetried: (@Sendable (any Error) -> Bool)? = nil
  ) -> DispatchOptions {
    if attempts < 1 {
      stopProgram(
        "retry(attempts: \(attempts)) leaves no attempt. Take 1 for one without a retry.")
    }
    return DispatchOptions().controlled {
      $0.retry = RetryPolicy(
        attemptCount: attempts, backoff: backoff,
        isRetried: isRetried ?? RetryPolicy.isRetriedByDefault)
    }
  }
}
