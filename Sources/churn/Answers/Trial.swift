/// The outcome of one replay in one round.
struct Trial: Sendable {
  let measurement: Measurement
  /// The replay's time for an action over that of the plain loop in the same round.
  let ratio: Double
  /// The differences of the figures from the plain loop's.
  let differences: [Difference]

  init(_ measurement: Measurement, floor: Measurement, differences: [Difference]) {
    self.measurement = measurement
    let product = floor.seconds * Double(measurement.actions)
    ratio = product > 0 ? measurement.seconds * Double(floor.actions) / product : 1
    self.differences = differences
  }
}
