/// The order of the stores of one dispatch, from the prerequisites of each.
struct WaitOrder {
  /// A store of the dispatch; participants are in order of registration.
  struct Participant {
    let identifier: String
    let waitFor: WaitFor
  }

  /// Indices of participants, each after its prerequisites; ties in order of registration.
  let order: [Int]
  /// By index of a participant: the indices of its prerequisites.
  let prerequisites: [[Int]]

  /// Throws `waitForCycle` or `unknownStore`; the message names the whole path.
  ///
  /// - Parameter wasRegistered: Whether a store was ever registered under an identifier.
  init(_ participants: [Participant], wasRegistered: (String) -> Bool) throws(DispatchError) {
    let indices = Dictionary(
      participants.enumerated().map { ($1.identifier, $0) }, uniquingKeysWith: { first, _ in first }
    )
    var prerequisites: [[Int]] = []
    for participant in participants {
      var waits: [Int] = []
      for identifier in participant.waitFor.storeIdentifiers {
        if let index = indices[identifier] {
          if !waits.contains(index) { waits.append(index) }
        } else if !wasRegistered(identifier) {
          throw Self.unknown(identifier, waitedForBy: participant.identifier)
        }
      }
      prerequisites.append(waits)
    }
    self.prerequisites = prerequisites
    order = try Self.sort(participants, prerequisites)
  }

  /// By position in `order`: the positions of the prerequisites; nil where no store waits.
  var prerequisitesInOrder: [[Int]]? {
    guard prerequisites.contains(where: { !$0.isEmpty }) else { return nil }
    var positions = order
    for (position, participant) in order.enumerated() { positions[participant] = position }
    return order.map { prerequisites[$0].map { positions[$0] } }
  }

  /// Appends the lowest ready index first, so that ties keep the order of registration.
  private static func sort(
    _ participants: [Participant], _ prerequisites: [[Int]]
  ) throws(DispatchError) -> [Int] {
    var dependents = [[Int]](repeating: [], count: participants.count)
    var missing = prerequisites.map(\.count)
    for (index, waits) in prerequisites.enumerated() {
      for wait in waits { dependents[wait].append(index) }
    }
    var ready = MinimumHeap(missing.indices.filter { missing[$0] == 0 })
    var order: [Int] = []
    while let index = ready.popMinimum() {
      order.append(index)
      for dependent in dependents[index] {
        missing[dependent] -= 1
        if missing[dependent] == 0 { ready.insert(dependent) }
      }
    }
    guard order.count == participants.count else {
      throw cycle(participants, prerequisites, among: missing.indices.filter { missing[$0] > 0 })
    }
    return order
  }

  /// Each participant left waits for another one left, so that following these leads into the cycle.
  private static func cycle(
    _ participants: [Participant], _ prerequisites: [[Int]], among left: [Int]
  ) -> DispatchError {
    let left = Set(left)
    var path = [left.min()!]
    while true {
      let next = prerequisites[path.last!].first { left.contains($0) }!
      if let start = path.firstIndex(of: next) {
        let stores = (path[start...] + [next]).map { participants[$0].identifier }
        let cycle = stores.map { "\"\($0)\"" }.joined(separator: " → ")
        return DispatchError(
          code: .waitForCycle,
          message: """
            Stores wait for each other in a cycle: \(cycle). \
            No store was run; remove one of these from a waitFor.
            """,
          storeIdentifiers: stores)
      }
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

/// A binary heap of integers, smallest first.
private struct MinimumHeap {
  private var elements: [Int]

  /// - Parameter sorted: A sorted array, which is a heap already.
  init(_ sorted: [Int]) {
    elements = sorted
  }

  mutating func insert(_ element: Int) {
    elements.append(element)
    var child = elements.count - 1
    while child > 0, elements[child] < elements[(child - 1) / 2] {
      elements.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func popMinimum() -> Int? {
    guard let minimum = elements.first else { return nil }
    let last = elements.removeLast()
    guard !elements.isEmpty else { return minimum }
    elements[0] = last
    var parent = 0
    while true {
      let children = [2 * parent + 1, 2 * parent + 2].filter { $0 < elements.count }
      guard let child = children.min(by: { elements[$0] < elements[$1] }),
        elements[child] < elements[parent]
      else { return minimum }
      elements.swapAt(child, parent)
      parent = child
    }
  }
}
