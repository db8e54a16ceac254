/// The outcomes of all elements of a group; a result is a view of one element.
final class GroupRecord: Sendable {
  let nodes: [GroupNode]
  /// Ends by element: nil for groups, and for steps that were skipped.
  let ends: [GroupStepEnd?]
  /// The place in the order of ends, by step.
  let places: [Int]
  let compensations: [Int: GroupStepEnd]
  /// The steps that were compensated, in the order of their compensations.
  let compensated: [Int]
  /// Whether each element succeeded.
  let successes: [Bool]

  init(
    nodes: [GroupNode], ends: [GroupStepEnd?], places: [Int], compensations: [Int: GroupStepEnd],
    compensated: [Int], successes: [Bool]
  ) {
    self.nodes = nodes
    self.ends = ends
    self.places = places
    self.compensations = compensations
    self.compensated = compensated
    self.successes = successes
  }

  func result(of step: Int) -> ActionStepResult? {
    nodes[step].step.map {
      ActionStepResult(
        callSite: $0.callSite, end: ends[step],
        compensation: compensations[step].map(ActionStepResult.Compensation.init))
    }
  }

  /// The steps whose compensations the dispatcher has refused, because it was shut down.
  var refusedCompensations: [ActionStepResult] {
    compensated.filter { compensations[$0]?.isRefused == true }.sorted().compactMap(result)
  }

  /// The step of a range that was the first, in time, not to finish.
  func failure(in range: Range<Int>) -> Int? {
    range.filter { ends[$0]?.error != nil }.min { places[$0] < places[$1] }
  }
}
