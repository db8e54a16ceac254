/// The figures of a replayer in all rounds, compared with its promise.
struct Verdict: Sendable {
  /// The measurement of the round that took the median time.
  let measurement: Measurement
  /// The replay's times for an action over those of the plain loop in the same rounds, ascending.
  let ratios: [Double]
  /// Whether the replayer also promises the figures that depend on the order of changes.
  let promisesOrder: Bool
  /// The differences of the figures from the plain loop's, in the worst round.
  let differences: [Difference]

  /// - Parameter trials: The trials, one for each round.
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
