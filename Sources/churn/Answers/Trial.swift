/// The outcome of one replay in one round.
struct Trial: Sendable {
  let measurement: Measurement
  /// Its time over that of the plain loop in the same round.
  let ratio: Double
  /// How the figures differ from the plain loop's.
  let differences: [Difference]

  init(_ measurement: Measurement, floor: Measurement, differences: [Difference]) {
    self.measurement = measurement
    ratio = floor.seconds > 0 ? measurement.seconds / floor.seconds : 1
    self.differences = differences
  }
}
