import Foundation

/// What a value is written in, so that three digits suffice.
struct Unit: Sendable {
  private let name: String
  private let size: Double

  private init(_ name: String, _ size: Double) {
    self.name = name
    self.size = size
  }

  /// What suits a time in nanoseconds.
  static func time(_ nanoseconds: Double) -> Unit {
    switch nanoseconds {
    case ..<999.5: Unit("ns", 1)
    case ..<999.5e3: Unit("µs", 1e3)
    case ..<999.5e6: Unit("ms", 1e6)
    default: Unit("s", 1e9)
    }
  }

  /// What suits a number of actions in a second.
  static func rate(_ rate: Double) -> Unit {
    switch rate {
    case ..<999.5: Unit("", 1)
    case ..<999.5e3: Unit("k", 1e3)
    default: Unit("M", 1e6)
    }
  }

  /// With the unit's name.
  func text(_ value: Double) -> String {
    name.isEmpty ? number(value) : "\(number(value)) \(name)"
  }

  /// Without it.
  func number(_ value: Double) -> String {
    let value = value / size
    if value == value.rounded() { return String(Int(value)) }
    let places = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
    return String(format: "%.\(places)f", value)
  }
}
