/// The measured figures of a replay.
struct Measurement: Sendable {
  /// The replayer's name in the report.
  let name: String
  let producers: Int
  /// Changes plus commits.
  let actions: Int
  /// The time to apply the actions, without the time to read the log.
  let seconds: Double
  /// The times from the call that dispatches an action to its completion.
  ///
  /// A wait for a unit of `--in-flight` is a part of them.
  let latencies: LatencyHistogram

  var actionsPerSecond: Double { seconds > 0 ? Double(actions) / seconds : 0 }
}
