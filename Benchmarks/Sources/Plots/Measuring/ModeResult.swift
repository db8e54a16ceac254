import BenchmarkSupport

/// All that was measured in one mode.
struct ModeResult: Sendable {
  let mode: PlottedMode
  /// What one producer completes in a second when it dispatches without a pause.
  let capacity: Quartiles
  let latencies: [LatencyPoint]
  let throughputToOneStore: [ThroughputPoint]
  let throughputToEightStores: [ThroughputPoint]
}
