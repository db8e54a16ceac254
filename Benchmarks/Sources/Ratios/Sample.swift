/// The result of one round.
struct Sample: Sendable {
  /// The measured value: nanoseconds per action, where a floor is given; else in the bound's unit.
  let subject: Double
  /// Nanoseconds per action of the floor, in the same round.
  let floor: Double?

  init(subject: Double, floor: Double? = nil) {
    self.subject = subject
    self.floor = floor
  }

  /// The ratio, where a floor is given.
  var value: Double { floor.map { subject / $0 } ?? subject }
}
