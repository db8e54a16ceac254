/// How a replay went.
struct Measurement: Sendable {
  /// The replayer's name in the report.
  let name: String
  let producers: Int
  /// Changes plus commits.
  let actions: Int
  /// The time to apply them, without that for reading the log.
  let seconds: Double
  /// From the dispatch of an action to its completion.
  let latencies: LatencyHistogram

  var actionsPerSecond: Double { seconds > 0 ? Double(actions) / seconds : 0 }
}
