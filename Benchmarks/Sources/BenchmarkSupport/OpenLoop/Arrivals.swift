private import Foundation

/// When actions arrive, fixed before the first one does.
public struct Arrivals: Sendable {
  /// In nanoseconds from the start, in order.
  public let offsets: [UInt64]

  /// Random arrivals, as of independent clients: some are close together.
  ///
  /// - Parameters:
  ///   - count: The number of arrivals.
  ///   - rate: How many come in a second, on average.
  ///   - seed: The same seed gives the same arrivals.
  public init(_ count: Int, rate: Double, seed: Int) {
    var generator = SplitMix(seed: seed)
    var time = 0.0
    offsets = (0..<count).map { _ in
      time -= log(1 - Double.random(in: 0..<1, using: &generator)) * 1e9 / rate
      return UInt64(time)
    }
  }
}
