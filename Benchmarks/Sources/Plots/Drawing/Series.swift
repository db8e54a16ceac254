import BenchmarkSupport

/// A line of a plot, with its quartiles as a band.
struct Series: Sendable {
  let name: String
  let color: String
  let points: [(x: Double, y: Quartiles)]
}
