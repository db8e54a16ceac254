package import Foundation

extension Date {
  /// Makes the date with this time since 1970; the end of time becomes `distantFuture`.
  package init(unixNanoseconds: Int64) {
    self =
      unixNanoseconds == .max
      ? .distantFuture : Date(timeIntervalSince1970: Double(unixNanoseconds) / 1e9)
  }

  /// The time since 1970, rounded to microseconds and clamped; for a date that is not a number, the end of time.
  ///
  /// A date can't tell a microsecond's parts apart, so a sum of a date and a time would be a little too late.
  package var unixNanoseconds: Int64 {
    let microseconds = (timeIntervalSince1970 * 1e6).rounded()
    if microseconds.isNaN || microseconds >= 9e15 { return .max }
    return microseconds <= -9e15 ? .min : Int64(microseconds) * 1_000
  }
}
