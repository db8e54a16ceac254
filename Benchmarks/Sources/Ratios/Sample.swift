/// What one round found.
struct Sample: Sendable {
  /// What is measured: nanoseconds per action, where a floor is given; else in the bound's unit.
  let subject: Double
  /// Nanoseconds per action of what it is compared with, in the same round.
  let floor: Double?

  init(subject: Double, floor: Double? = nil) {
    self.subject = subject
    self.floor = floor
  }

  /// What the bound is for.
  var value: Double { floor.map { subject / $0 } ?? subject }
}
