import BenchmarkSupport

/// All measurements of one mode.
struct ModeResult: Sendable {
  let mode: PlottedMode
  /// How many actions per second one producer completes when it dispatches without a pause.
  let capacity: Quartiles
  let latencies: [LatencyPoint]
  let throughputToOneStore: [ThroughputPoint]
  let throughputToEightStores: [ThroughputPoint]
}
