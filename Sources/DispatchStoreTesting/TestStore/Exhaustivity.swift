/// Whether a test has to assert everything that its test store records.
public enum Exhaustivity: Hashable, Sendable {
  /// A change that was not asserted, or an action that followed and was not received, is a failure.
  case on
  /// Only what the test asserts is checked; closures need to set only the fields that they assert.
  ///
  /// With `showSkipped`, the rest is shown: as warnings under Swift Testing, else on standard error.
  case off(showSkipped: Bool)

  /// Only what the test asserts is checked; the rest is not shown.
  public static let off = Exhaustivity.off(showSkipped: false)

  var isOn: Bool { self == .on }
}
