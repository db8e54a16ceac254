/// The treatment of an action while an earlier run of the effect goes on, among all actions or those of one key.
public enum EffectPolicy: Sendable, CaseIterable {
  /// Begins the new run at once, beside the others.
  case concurrent
  /// Begins the new run at once, and cancels those that go on, without waiting for their ends.
  case latest
  /// Skips the action: it has no run.
  case unlessRunning
  /// Begins the new run after those of earlier actions, one at a time.
  case serial
}

/// Whether a long-lived effect runs again after it has thrown.
public struct EffectRestart: Sendable {
  let limit: Int?
  let backoff: RetryBackoff
  let resetAfter: Duration

  /// Never runs the effect again.
  public static let never = EffectRestart(limit: 0, backoff: .none, resetAfter: .zero)

  /// Runs the effect again, each time after a pause by the dispatcher's clock.
  ///
  /// Failures are counted in a row: one at the end of a run that has lasted `resetAfter` is the first again.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of restarts in a row, until the program restarts the effect; nil for any number.
  ///   - backoff: The pauses from each failure on; no thread waits meanwhile.
  ///   - resetAfter: The duration of a run after which limit and backoff begin anew.
  public static func onFailure(
    limit: Int? = nil, backoff: RetryBackoff = .exponential(from: .milliseconds(100)),
    resetAfter: Duration = .seconds(60)
  ) -> EffectRestart {
    EffectRestart(limit: limit, backoff: backoff, resetAfter: resetAfter)
  }
}
