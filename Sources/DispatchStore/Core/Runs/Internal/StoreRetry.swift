/// The rule that decides whether a failed store is retried.
protocol RetryRule: Sendable {
  /// The pause before the next attempt, in nanoseconds; nil if none follows.
  ///
  /// Called in a step of the dispatch, with no lock held.
  func pause(after failure: FailedAttempt) -> Int64?
}

/// An attempt of a store that has failed.
struct FailedAttempt {
  let error: any Error
  /// The number of the attempt, from 1.
  let attempt: Int
  /// In a simulation, the seed from which its pause may be drawn.
  let seed: UInt64?
}

/// The rule and the dispatcher, with its timers, by which failed stores are retried.
struct StoreRetry {
  let rule: any RetryRule
  let dispatcher: Dispatcher
}
