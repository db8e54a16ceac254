import Foundation

/// The unit in which a value is written with three digits.
struct Unit: Sendable {
  private let name: String
  private let size: Double

  private init(_ name: String, _ size: Double) {
    self.name = name
    self.size = size
  }

  /// The unit for a time in nanoseconds.
  static func time(_ nanoseconds: Double) -> Unit {
    switch nanoseconds {
    case ..<999.5: Unit("ns", 1)
    case ..<999.5e3: Unit("µs", 1e3)
    case ..<999.5e6: Unit("ms", 1e6)
    default: Unit("s", 1e9)
    }
  }

  /// The unit for a number of actions per second.
  static func rate(_ rate: Double) -> Unit {
    switch rate {
    case ..<999.5: Unit("", 1)
    case ..<999.5e3: Unit("k", 1e3)
    default: Unit("M", 1e6)
    }
  }

  /// The value with the unit's name.
  func text(_ value: Double) -> String {
    name.isEmpty ? number(value) : "\(number(value)) \(name)"
  }

  /// The value without the unit's name.
  func number(_ value: Double) -> String {
    let value = value / size
    if value == value.rounded() { return String(Int(value)) }
    let places = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
    return String(format: "%.\(places)f", value)
  }
}
