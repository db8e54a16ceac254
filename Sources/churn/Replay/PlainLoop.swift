/// The floor: the same updates as the stores', made by a plain loop without a dispatcher.
///
/// Its answers are the reference for every mode.
struct PlainLoop: Replayer {
  let name = "plainLoop"
  let keepsOrder = true
  let hasStores = false
  let producers = 1

  /// Reading the clock costs as much as an update, so only one update in this many is timed.
  static let sampling = 16

  func replay(_ history: EventBatches, _: FollowedReplay?, until stop: Stop) throws -> RunResult {
    var models = Models()
    var latencies = LatencyHistogram()
    var stopwatch = Stopwatch()
    let taken = try history.takeEach { batch in
      stopwatch.time {
        for start in stride(from: 0, to: batch.count, by: Self.sampling) {
          if stop.isRequested { return start }
          let began = Stopwatch.now
          models.take(batch[start])
          latencies.record(Stopwatch.now - began)
          let end = min(start + Self.sampling, batch.count)
          for index in (start + 1)..<end { models.take(batch[index]) }
        }
        return batch.count
      }
    }
    let measurement = Measurement(
      name: name, producers: producers, actions: taken, seconds: stopwatch.seconds,
      latencies: latencies)
    guard taken < history.eventCount, let signal = stop.signal else {
      return RunResult(measurement: measurement, models: models)
    }
    return RunResult(
      measurement: measurement, models: models, cut: Cut(signal: signal, dispatched: taken))
  }
}
