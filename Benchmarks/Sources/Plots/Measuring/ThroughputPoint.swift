import BenchmarkSupport

/// What a number of producers achieve: quartiles over the rounds, in actions per second.
struct ThroughputPoint: Sendable {
  let producers: Int
  let rate: Quartiles
}
