/// What a replay ended with.
struct RunResult: Sendable {
  let measurement: Measurement
  let models: Models
}
