import BenchmarkSupport

/// The latencies at one load: quartiles over the rounds, in nanoseconds.
struct LatencyPoint: Sendable {
  /// The load, as a fraction of the capacity.
  let load: Double
  let p50: Quartiles
  let p99: Quartiles
  let p999: Quartiles

  init(load: Double, _ rounds: [Latencies]) {
    self.load = load
    p50 = Quartiles(rounds.map(\.p50))
    p99 = Quartiles(rounds.map(\.p99))
    p999 = Quartiles(rounds.map(\.p999))
  }
}
