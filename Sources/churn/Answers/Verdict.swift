/// What a replay made of the figures, held against what it promises.
struct Verdict: Sendable {
  let measurement: Measurement
  /// Whether it promises the figures that depend on the order of changes, too.
  let promisesOrder: Bool
  /// How the figures differ from the plain loop's.
  let differences: [Difference]

  /// Those differences that break what is promised.
  var broken: [Difference] {
    differences.filter { promisesOrder || !$0.figure.dependsOnOrder }
  }

  /// Whether the figures that depend on the order came out as in the log.
  var orderedFiguresHeld: Bool {
    !differences.contains { $0.figure.dependsOnOrder }
  }
}
