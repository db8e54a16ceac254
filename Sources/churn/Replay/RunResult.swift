/// The result of a replay.
struct RunResult: Sendable {
  let measurement: Measurement
  let models: Models
  /// The cut; nil if the replay is complete.
  var cut: Cut?
}
