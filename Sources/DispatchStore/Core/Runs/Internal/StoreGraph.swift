/// The stores of a route and their prerequisites, worked out once for all rounds along that route.
final class StoreGraph: Sendable {
  let identifiers: [String]
  /// The earlier indices that each store waits for, by store index; nil if no store waits.
  let prerequisites: [[Int]]?
  /// The later indices that wait for each store, by store index; nil if no store waits.
  let dependents: [[Int]]?
  /// Whether each store runs even if a prerequisite did not finish, by store index.
  let runsRegardless: [Bool]

  init(_ identifiers: [String], prerequisites: [[Int]]?, runsRegardless: [Bool]) {
    self.identifiers = identifiers
    self.prerequisites = prerequisites
    self.runsRegardless = runsRegardless
    dependents = prerequisites.map(StoreGraph.dependents(of:))
  }

  /// Returns the indices that have each index among their prerequisites.
  static func dependents(of prerequisites: [[Int]]) -> [[Int]] {
    var dependents = [[Int]](repeating: [], count: prerequisites.count)
    for (index, waits) in prerequisites.enumerated() {
      for wait in waits { dependents[wait].append(index) }
    }
    return dependents
  }

  var count: Int { identifiers.count }

  /// The first store alone.
  var ofFirst: StoreGraph {
    StoreGraph([identifiers[0]], prerequisites: nil, runsRegardless: [runsRegardless[0]])
  }
}
