/// Whether a test store wants to be told of everything that happened.
public enum Exhaustivity: Hashable, Sendable {
  /// Each change and each action that followed has to be asserted; what was not is a failure.
  case on
  /// Only what is asserted is looked at; closures need to set only what they are about.
  ///
  /// What was skipped is shown on request: as warnings under Swift Testing, else on standard error.
  case off(showSkipped: Bool)

  /// Only what is asserted is looked at; what was skipped is not shown.
  public static let off = Exhaustivity.off(showSkipped: false)

  var isOn: Bool { self == .on }
}
