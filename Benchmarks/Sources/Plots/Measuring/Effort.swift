/// How long to measure.
struct Effort: Sendable {
  let rounds: Int
  /// How long actions arrive at each load, in each round.
  let arrivalSeconds: Double
  /// How long one producer takes at least, in each round, for what all producers do.
  let throughputSeconds: Double

  /// How long each contender of a comparison takes at least, at each size, in each round.
  let comparisonSeconds: Double

  static let full = Effort(
    rounds: 7, arrivalSeconds: 0.25, throughputSeconds: 0.03, comparisonSeconds: 0.03)
  static let quick = Effort(
    rounds: 3, arrivalSeconds: 0.04, throughputSeconds: 0.01, comparisonSeconds: 0.005)
}
