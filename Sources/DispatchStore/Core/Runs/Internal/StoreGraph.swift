/// The stores of a route, and which of them wait for which: worked out once for all rounds along that route.
final class StoreGraph: Sendable {
  let identifiers: [String]
  /// By store index: the earlier indices that it waits for; nil if no store waits.
  let prerequisites: [[Int]]?
  /// By store index: the later indices that wait for it; nil if no store waits.
  let dependents: [[Int]]?
  /// By store index: whether it runs also if a store that it waits for did not finish.
  let runsRegardless: [Bool]

  init(_ identifiers: [String], prerequisites: [[Int]]?, runsRegardless: [Bool]) {
    self.identifiers = identifiers
    self.prerequisites = prerequisites
    self.runsRegardless = runsRegardless
    dependents = prerequisites.map { prerequisites in
      var dependents = [[Int]](repeating: [], count: identifiers.count)
      for (index, waits) in prerequisites.enumerated() {
        for wait in waits { dependents[wait].append(index) }
      }
      return dependents
    }
  }

  var count: Int { identifiers.count }
}
