import BenchmarkSupport

/// What each contender of a comparison costs.
struct ComparisonResult: Sendable {
  struct Line: Sendable {
    let name: String
    /// The nanoseconds per action: quartiles over the rounds, by size.
    let costs: [(size: Int, cost: Quartiles)]
  }

  let comparison: Comparison
  let lines: [Line]
}

extension Comparison {
  /// Measures one size after the other, since a thread remembers the routes that it has used.
  func measure(_ effort: Effort) -> ComparisonResult {
    let costs = sizes.map { measure($0, effort) }
    let lines = contenders.enumerated().map { index, contender in
      ComparisonResult.Line(
        name: contender.name, costs: zip(sizes, costs).map { ($0, $1[index]) })
    }
    return ComparisonResult(comparison: self, lines: lines)
  }

  /// Measures all contenders at a size; they alternate, so that a disturbance affects all of them.
  private func measure(_ size: Int, _ effort: Effort) -> [Quartiles] {
    Progress.note("\(title): \(size.grouped)")
    let trials = contenders.map { Trial($0.workload(size), atLeast: least(size), effort) }
    for round in 1...effort.rounds {
      Progress.note("\(title): \(size.grouped), round \(round) of \(effort.rounds)")
      for trial in trials { trial.measure() }
    }
    return trials.map { Quartiles($0.nanoseconds) }
  }
}

/// One contender at one size.
private final class Trial {
  private let workload: Workload
  private let count: Int
  /// Per action, in each round.
  private(set) var nanoseconds: [Double] = []

  /// Warms up, and finds how many actions take long enough.
  init(_ workload: @escaping Workload, atLeast least: Int, _ effort: Effort) {
    self.workload = workload
    var count = least
    while Stopwatch.nanoseconds({ workload(count) }) < effort.comparisonSeconds * 1e9 { count *= 2 }
    self.count = count
  }

  func measure() {
    nanoseconds.append(Stopwatch.nanoseconds { workload(count) } / Double(count))
  }
}
