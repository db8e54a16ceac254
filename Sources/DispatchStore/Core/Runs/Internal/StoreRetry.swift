/// Decides whether a store runs again whose part has failed: the seam for what controls that.
protocol RetryRule: Sendable {
  /// The pause before the next attempt, in nanoseconds; nil where none follows.
  ///
  /// In a step of the dispatch, with no lock held.
  func pause(after failure: FailedAttempt) -> Int64?
}

/// An attempt of a store that has failed.
struct FailedAttempt {
  let error: any Error
  /// Its number, from 1.
  let attempt: Int
  let transaction: TransactionID
  let storeIndex: Int
  let isSimulated: Bool
}

/// By what rule, and whose timers, the stores of a dispatch run again.
struct StoreRetry {
  let rule: any RetryRule
  let dispatcher: Dispatcher
}

/// The timer of the pause before an attempt.
final class RetryPause: TimerTarget {
  private let round: Round
  private let index: Int
  private let attempt: Int

  init(of round: Round, at index: Int, before attempt: Int) {
    self.round = round
    self.index = index
    self.attempt = attempt
  }

  func timerFired() {
    round.pausePassed(at: index, before: attempt)
  }
}
