/// The latencies of a round's actions, in nanoseconds.
public struct Latencies: Sendable {
  /// Half of the actions took less.
  public let p50: Double
  /// One in 100 took longer.
  public let p99: Double
  /// One in 1,000 took longer.
  public let p999: Double

  init(_ values: [Double]) {
    let sorted = values.sorted()
    func percentile(_ part: Double) -> Double {
      sorted[min(sorted.count - 1, Int(part * Double(sorted.count)))]
    }
    p50 = percentile(0.5)
    p99 = percentile(0.99)
    p999 = percentile(0.999)
  }
}
