/// How a replay went.
struct Measurement: Sendable {
  /// What the report calls the way of replaying.
  let name: String
  let producers: Int
  /// Changes plus commits.
  let actions: Int
  /// The time that taking them in took, without the time for reading the log.
  let seconds: Double
  /// From handing an action over to its completion.
  let latencies: LatencyHistogram

  var actionsPerSecond: Double { seconds > 0 ? Double(actions) / seconds : 0 }
}
