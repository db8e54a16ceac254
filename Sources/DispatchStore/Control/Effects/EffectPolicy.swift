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
  /// The number of restarts until the program restarts the effect; nil for any number.
  let limit: Int?
  let delay: Duration

  /// Never runs the effect again.
  public static let never = EffectRestart(limit: 0, delay: .zero)

  /// Runs the effect again, each time after a delay by the dispatcher's clock.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of restarts until the program restarts the effect; nil for any number.
  ///   - delay: The time from the failure on; no thread waits meanwhile.
  public static func onFailure(limit: Int? = nil, delay: Duration = .zero) -> EffectRestart {
    EffectRestart(limit: limit, delay: delay)
  }
}
