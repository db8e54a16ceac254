import Foundation

/// Maps values to positions along an axis.
struct Scale: Sendable {
  /// A value with a line, and a label where it has one.
  struct Tick: Sendable {
    let value: Double
    let label: String
  }

  let ticks: [Tick]
  private let low: Double
  private let high: Double
  private let isLogarithmic: Bool

  init(from low: Double, to high: Double, isLogarithmic: Bool = false, ticks: [Tick]) {
    self.low = low
    self.high = high
    self.isLogarithmic = isLogarithmic
    self.ticks = ticks
  }

  /// From 0 at the low end to 1 at the high end; what lies beyond is put there.
  func position(of value: Double) -> Double {
    let value = min(max(value, low), high)
    guard isLogarithmic else { return (value - low) / (high - low) }
    return log(value / low) / log(high / low)
  }

  /// Decades of time, around values in nanoseconds.
  static func decades(around values: [Double]) -> Scale {
    let first = Int(log10(values.min() ?? 1).rounded(.down))
    let last = max(first + 1, Int(log10(values.max() ?? 10).rounded(.up)))
    let ticks = (first...last).map { decade in
      let value = pow(10, Double(decade))
      return Tick(value: value, label: Unit.time(value).text(value))
    }
    return Scale(
      from: pow(10, Double(first)), to: pow(10, Double(last)), isLogarithmic: true, ticks: ticks)
  }

  /// From 0 in four to eight round steps to above the highest value, in actions per second.
  static func rates(to highest: Double) -> Scale {
    let magnitude = pow(10, log10(highest / 4).rounded(.down))
    let step = [1, 2, 2.5, 5, 10].map { $0 * magnitude }.first { highest / $0 <= 6 } ?? highest
    let count = Int((highest / step).rounded(.up))
    let ticks = (0...count).map { index in
      let value = Double(index) * step
      return Tick(value: value, label: Unit.rate(value).text(value))
    }
    return Scale(from: 0, to: Double(count) * step, ticks: ticks)
  }
}
