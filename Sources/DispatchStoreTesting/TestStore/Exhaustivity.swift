/// The choice whether a test has to assert everything that its test store records.
public enum Exhaustivity: Hashable, Sendable {
  /// Reports a failure for each change that was not asserted, and each followed action that was not received.
  case on
  /// Checks only what the test asserts.
  ///
  /// Closures need to set only the fields that they assert.
  ///
  /// With `showSkipped`, the rest is shown: as warnings under Swift Testing, otherwise on standard error.
  case off(showSkipped: Bool)

  /// Checks only what the test asserts, and does not show the rest.
  public static let off = Exhaustivity.off(showSkipped: false)

  var isOn: Bool { self == .on }
}
