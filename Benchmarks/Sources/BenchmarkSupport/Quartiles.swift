/// The middle of some values, and how far they spread.
public struct Quartiles: Sendable {
  /// A quarter of the values are below it.
  public let first: Double
  /// Half of the values are below it.
  public let median: Double
  /// A quarter of the values are above it.
  public let third: Double

  /// Sorts the values, of which there must be one at least.
  public init(_ values: [Double]) {
    let sorted = values.sorted()
    first = Self.quantile(0.25, of: sorted)
    median = Self.quantile(0.5, of: sorted)
    third = Self.quantile(0.75, of: sorted)
  }

  /// Between two neighbours, where the quantile falls between them.
  private static func quantile(_ part: Double, of sorted: [Double]) -> Double {
    let position = part * Double(sorted.count - 1)
    let index = Int(position)
    let next = min(index + 1, sorted.count - 1)
    return sorted[index] + (sorted[next] - sorted[index]) * (position - Double(index))
  }
}
