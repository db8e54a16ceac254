extension DispatchOptions {
  /// Runs a store again that has failed, after a pause.
  ///
  /// What runs again is the store that has failed, by another operation of its reducer; stores that wait for it do so
  /// until its last attempt, and those that have finished do not run again. `willDispatch` and `didDispatch` are called
  /// for each attempt, hooks of whole dispatches and the completion once. What a failed attempt has committed stays. In
  /// the pause no thread is held (with `.sync` the caller's blocks), and the lane stays held. `cancel()`, or a time
  /// limit that passes, ends a pause at once, and no attempt follows: the store ends as cancelled (one that runs
  /// regardless, as its last attempt did). Of a sequence each action is retried by itself.
  ///
  /// Not retried are a veto, a cancelled operation, and a store that was not started. The last attempt's outcome is the
  /// store's; `StoreResult.attemptCount` says how many there were. Cost: the dispatch does not run inline; for each
  /// pause, an entry among the dispatcher's timers.
  ///
  /// - Parameters:
  ///   - attempts: How many there are at most, the first one included.
  ///   - backoff: The pauses between them, by the dispatcher's clock.
  ///   - isRetried: Whether an error is one that another attempt may follow; by default each one but a `DispatchError`
  ///     and a `CancellationError`. Called in the dispatch, after `didDispatch`.
  /// - Precondition: `attempts` is positive.
  public static func retrying(
    attempts: Int, backoff: RetryBackoff = .none,
    where isRetried: (@Sendable (any Error) -> Bool)? = nil
  ) -> DispatchOptions {
    DispatchOptions().retrying(attempts: attempts, backoff: backoff, where: isRetried)
  }

  /// The same options with attempts, as `DispatchOptions.retrying(attempts:backoff:where:)`; they replace former ones.
  public func retrying(
    attempts: Int, backoff: RetryBackoff = .none,
    where isRetried: (@Sendable (any Error) -> Bool)? = nil
  ) -> DispatchOptions {
    if attempts < 1 {
      stopProgram(
        "retrying(attempts: \(attempts)) leaves no attempt. Take 1 for one without a retry.")
    }
    return controlled {
      $0.retry = RetryPolicy(
        attemptCount: attempts, backoff: backoff,
        isRetried: isRetried ?? RetryPolicy.isRetriedByDefault)
    }
  }
}
