/// What becomes of an action that an effect follows while an earlier run of that effect goes on: for all actions, or
/// for those of one key.
public enum EffectPolicy: Sendable, CaseIterable {
  /// Its run begins at once, beside the others.
  case concurrent
  /// Its run begins at once, and those that go on are cancelled.
  ///
  /// It does not wait for their ends.
  case latest
  /// It has no run.
  case unlessRunning
  /// Its run begins after those of the actions before it, one at a time.
  case serial
}

/// Whether a long-lived effect runs again after it has thrown.
public struct EffectRestart: Sendable {
  /// How often in a row; nil for always.
  let limit: Int?
  let delay: Duration

  /// It does not.
  public static let never = EffectRestart(limit: 0, delay: .zero)

  /// It does, each time after a delay by the dispatcher's clock.
  ///
  /// - Parameters:
  ///   - limit: How often at most, until it is restarted by the program; nil for always.
  ///   - delay: The time from its failure on; no thread waits meanwhile.
  public static func onFailure(limit: Int? = nil, delay: Duration = .zero) -> EffectRestart {
    EffectRestart(limit: limit, delay: delay)
  }
}
