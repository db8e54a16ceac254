/// The floor: the same updates as the stores', made by a plain loop without a dispatcher.
///
/// Its answers are the reference for every mode.
struct PlainLoop: Replayer {
  let name = "plainLoop"
  let keepsOrder = true
  let hasStores = false
  let producers = 1

  /// Reading the clock costs as much as an update, so only one in so many is timed.
  static let sampling = 16

  func replay(_ history: EventBatches, _: [any ReplayObserver]) throws -> RunResult {
    var models = Models()
    var latencies = LatencyHistogram()
    var stopwatch = Stopwatch()
    try history.forEach { batch in
      stopwatch.time {
        for start in stride(from: 0, to: batch.count, by: Self.sampling) {
          let began = Stopwatch.now
          models.take(batch[start])
          latencies.record(Stopwatch.now - began)
          let end = min(start + Self.sampling, batch.count)
          for index in (start + 1)..<end { models.take(batch[index]) }
        }
      }
    }
    let measurement = Measurement(
      name: name, producers: producers, actions: history.eventCount, seconds: stopwatch.seconds,
      latencies: latencies)
    return RunResult(measurement: measurement, models: models)
  }
}
