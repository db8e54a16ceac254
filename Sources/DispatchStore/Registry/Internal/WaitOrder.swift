/// The order among the stores of one dispatch, from what each of them waits for.
struct WaitOrder {
  /// One store that takes part, by its place in order of registration.
  struct Participant {
    let identifier: String
    let waitFor: WaitFor
  }

  /// Places in the list of participants, each after those that it waits for; ties as registered.
  let order: [Int]
  /// By place: the places that it waits for.
  let prerequisites: [[Int]]

  /// Throws `waitForCycle` or `unknownStore`, naming the whole path.
  ///
  /// - Parameter wasRegistered: Whether a store was ever registered under an identifier.
  init(_ participants: [Participant], wasRegistered: (String) -> Bool) throws(DispatchError) {
    let places = Dictionary(
      participants.enumerated().map { ($1.identifier, $0) }, uniquingKeysWith: { first, _ in first }
    )
    var prerequisites: [[Int]] = []
    for participant in participants {
      var waits: [Int] = []
      for identifier in participant.waitFor.storeIdentifiers {
        if let place = places[identifier] {
          if !waits.contains(place) { waits.append(place) }
        } else if !wasRegistered(identifier) {
          throw Self.unknown(identifier, waitedForBy: participant.identifier)
        }
      }
      prerequisites.append(waits)
    }
    self.prerequisites = prerequisites
    order = try Self.sort(participants, prerequisites)
  }

  /// By place in the order found: the places in it that are waited for; nil where nobody waits.
  var prerequisitesInOrder: [[Int]]? {
    guard prerequisites.contains(where: { !$0.isEmpty }) else { return nil }
    var places = order
    for (place, participant) in order.enumerated() { places[participant] = place }
    return order.map { prerequisites[$0].map { places[$0] } }
  }

  /// The lowest place that is ready goes next, so that ties go by order of registration.
  private static func sort(
    _ participants: [Participant], _ prerequisites: [[Int]]
  ) throws(DispatchError) -> [Int] {
    var dependents = [[Int]](repeating: [], count: participants.count)
    var missing = prerequisites.map(\.count)
    for (place, waits) in prerequisites.enumerated() {
      for wait in waits { dependents[wait].append(place) }
    }
    var ready = MinimumHeap(missing.indices.filter { missing[$0] == 0 })
    var order: [Int] = []
    while let place = ready.popMinimum() {
      order.append(place)
      for dependent in dependents[place] {
        missing[dependent] -= 1
        if missing[dependent] == 0 { ready.insert(dependent) }
      }
    }
    guard order.count == participants.count else {
      throw cycle(participants, prerequisites, among: missing.indices.filter { missing[$0] > 0 })
    }
    return order
  }

  /// Every place left over waits for another one left over, so following them must come around.
  private static func cycle(
    _ participants: [Participant], _ prerequisites: [[Int]], among left: [Int]
  ) -> DispatchError {
    let left = Set(left)
    var path = [left.min()!]
    while true {
      let next = prerequisites[path.last!].first { left.contains($0) }!
      if let start = path.firstIndex(of: next) {
        let stores = (path[start...] + [next]).map { participants[$0].identifier }
        let circle = stores.map { "\"\($0)\"" }.joined(separator: " → ")
        return DispatchError(
          code: .waitForCycle,
          message: """
            Stores wait for each other in a circle: \(circle). \
            Nothing was run; take one of these out of a waitFor.
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
        ("\(waiter)" → "\(identifier)"). Nothing was run; register that store first, or mend the name.
        """,
      storeIdentifiers: [waiter, identifier])
  }
}

/// A binary heap of integers, smallest first.
private struct MinimumHeap {
  private var elements: [Int]

  /// - Parameter sorted: A sorted array is a heap already.
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
