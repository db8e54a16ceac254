/// How often, when and after which errors a store runs again.
struct RetryPolicy: RetryRule {
  let attemptCount: Int
  let backoff: RetryBackoff
  let isRetried: @Sendable (any Error) -> Bool

  func pause(after failure: FailedAttempt) -> Int64? {
    guard failure.attempt < attemptCount, isRetried(failure.error) else { return nil }
    return backoff.pause(after: failure.attempt, seed: failure.seed)
  }

  /// Whether an error is neither one of the library's own nor that of a cancelled wait.
  static func isRetriedByDefault(_ error: any Error) -> Bool {
    !(error is DispatchError || error is CancellationError)
  }
}
