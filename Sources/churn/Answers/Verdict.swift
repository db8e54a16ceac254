/// The figures of a replayer in all rounds, compared with what it promises.
struct Verdict: Sendable {
  /// The measurement of the round that took the median time.
  let measurement: Measurement
  /// The times over those of the plain loop in the same round, ascending.
  let ratios: [Double]
  /// Whether it promises the figures that depend on the order of changes, too.
  let promisesOrder: Bool
  /// How the figures differ from the plain loop's, in the worst round.
  let differences: [Difference]

  /// - Parameter trials: One for each round.
  init(of trials: [Trial], promisesOrder: Bool) {
    let byTime = trials.sorted { $0.measurement.seconds < $1.measurement.seconds }
    measurement = byTime[(trials.count - 1) / 2].measurement
    ratios = trials.map(\.ratio).sorted()
    self.promisesOrder = promisesOrder
    func weight(_ trial: Trial) -> (broken: Int, all: Int) {
      let broken = Self.broken(trial.differences, promisesOrder: promisesOrder)
      return (broken.map(\.count).reduce(0, +), trial.differences.map(\.count).reduce(0, +))
    }
    differences = trials.max { weight($0) < weight($1) }?.differences ?? []
  }

  /// The differences that break a promise.
  var broken: [Difference] {
    Self.broken(differences, promisesOrder: promisesOrder)
  }

  private static func broken(_ differences: [Difference], promisesOrder: Bool) -> [Difference] {
    differences.filter { promisesOrder || !$0.figure.dependsOnOrder }
  }

  /// Whether the figures that depend on the order are those of the log.
  var orderedFiguresHeld: Bool {
    !differences.contains { $0.figure.dependsOnOrder }
  }

  var medianRatio: Double { ratios[(ratios.count - 1) / 2] }
}
