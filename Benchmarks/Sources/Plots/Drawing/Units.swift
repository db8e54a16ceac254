import Foundation

/// Writes values with three digits at most, in the unit that suits them.
enum Units {
  /// A time in nanoseconds.
  static func time(_ nanoseconds: Double) -> String {
    switch nanoseconds {
    case ..<999.5: "\(digits(nanoseconds)) ns"
    case ..<999.5e3: "\(digits(nanoseconds / 1e3)) µs"
    case ..<999.5e6: "\(digits(nanoseconds / 1e6)) ms"
    default: "\(digits(nanoseconds / 1e9)) s"
    }
  }

  /// A number of actions in a second.
  static func rate(_ rate: Double) -> String {
    switch rate {
    case ..<999.5: digits(rate)
    case ..<999.5e3: "\(digits(rate / 1e3)) k"
    default: "\(digits(rate / 1e6)) M"
    }
  }

  private static func digits(_ value: Double) -> String {
    if value == value.rounded() { return String(Int(value)) }
    let places = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
    return String(format: "%.\(places)f", value)
  }
}
