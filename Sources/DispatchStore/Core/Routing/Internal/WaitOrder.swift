/// The order of the stores of one dispatch, from the prerequisites of each.
struct WaitOrder {
  /// Indices of participants, each after its prerequisites; ties in order of registration.
  let order: [Int]
  /// By index of a participant: the indices of its prerequisites.
  let prerequisites: [[Int]]

  /// Orders the participants; throws `waitForCycle` or `unknownStore`, whose message names the whole path.
  ///
  /// Takes time linear in the participants and their prerequisites, apart from a heap's logarithm.
  ///
  /// - Parameters:
  ///   - identifiers: The identifiers of the participants, in order of registration.
  ///   - waitFor: The stores for which each one waits.
  ///   - unknown: The identifiers under which no store was ever registered.
  init(
    _ identifiers: [String], _ waitFor: [WaitFor], unknown: Set<String> = []
  ) throws(DispatchError) {
    let indices = Dictionary(
      zip(identifiers, identifiers.indices), uniquingKeysWith: { first, _ in first })
    var prerequisites: [[Int]] = []
    prerequisites.reserveCapacity(identifiers.count)
    // By index: the last participant found to wait for it.
    var lastWaiter = [Int](repeating: -1, count: identifiers.count)
    for (waiter, own) in waitFor.enumerated() {
      var waits: [Int] = []
      for identifier in own.storeIdentifiers {
        if let index = indices[identifier] {
          if lastWaiter[index] != waiter { waits.append(index) }
          lastWaiter[index] = waiter
        } else if unknown.contains(identifier) {
          throw Self.unknown(identifier, waitedForBy: identifiers[waiter])
        }
      }
      prerequisites.append(waits)
    }
    self.prerequisites = prerequisites
    order = try Self.sort(identifiers, prerequisites)
  }

  /// By position in `order`: the positions of the prerequisites; nil if no store waits.
  var prerequisitesInOrder: [[Int]]? {
    guard prerequisites.contains(where: { !$0.isEmpty }) else { return nil }
    var positions = order
    for (position, participant) in order.enumerated() { positions[participant] = position }
    return order.map { prerequisites[$0].map { positions[$0] } }
  }

  /// Returns the order; the lowest ready index comes first, so that ties keep the order of registration.
  private static func sort(
    _ identifiers: [String], _ prerequisites: [[Int]]
  ) throws(DispatchError) -> [Int] {
    // If each waits for earlier ones only, that is the order of registration.
    let areInOrder = prerequisites.indices.allSatisfy { index in
      prerequisites[index].allSatisfy { $0 < index }
    }
    if areInOrder { return Array(prerequisites.indices) }
    let dependents = StoreGraph.dependents(of: prerequisites)
    var missing = prerequisites.map(\.count)
    var ready = MinimumHeap(missing.indices.filter { missing[$0] == 0 })
    var order: [Int] = []
    while let index = ready.popMinimum() {
      order.append(index)
      for dependent in dependents[index] {
        missing[dependent] -= 1
        if missing[dependent] == 0 { ready.insert(dependent) }
      }
    }
    guard order.count == identifiers.count else {
      throw cycle(identifiers, prerequisites, among: missing.indices.filter { missing[$0] > 0 })
    }
    return order
  }

  /// Returns the error that names a cycle.
  ///
  /// Each participant left waits for another one left, so following the prerequisites leads into the cycle.
  private static func cycle(
    _ identifiers: [String], _ prerequisites: [[Int]], among left: [Int]
  ) -> DispatchError {
    let (first, left) = (left[0], Set(left))
    var path = [first]
    var positions = [first: 0]
    while true {
      let next = prerequisites[path.last!].first { left.contains($0) }!
      if let start = positions[next] {
        let stores = (path[start...] + [next]).map { identifiers[$0] }
        let cycle = stores.map { "\"\($0)\"" }.joined(separator: " → ")
        return DispatchError(
          code: .waitForCycle,
          message: """
            Stores wait for each other in a cycle: \(cycle). \
            No store was run; remove one of these from a waitFor.
            """,
          storeIdentifiers: stores)
      }
      positions[next] = path.count
      path.append(next)
    }
  }

  private static func unknown(_ identifier: String, waitedForBy waiter: String) -> DispatchError {
    DispatchError(
      code: .unknownStore,
      message: """
        Store "\(waiter)" waits for "\(identifier)", under which no store was ever registered \
        ("\(waiter)" → "\(identifier)"). No store was run; register that store first, or correct \
        the identifier.
        """,
      storeIdentifiers: [waiter, identifier])
  }
}
