/// The result of a replay.
struct RunResult: Sendable {
  let measurement: Measurement
  let models: Models
  /// Nil where it is complete.
  var cut: Cut?
}
