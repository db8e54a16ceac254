extension DiagnosisBuilder {
  /// Looks at a store of a round.
  mutating func look(at standing: StoreStanding, _ place: Int) {
    let name = "store \"\(standing.identifier)\""
    switch standing.phase {
    case .waiting:
      let awaited = standing.prerequisites.map { "\"\($0)\"" }.joined(separator: ", ")
      let text =
        awaited.isEmpty
        ? "\(name) is about to start"
        : "\(name) waits for \(standing.prerequisites.count > 1 ? "stores" : "store") \(awaited)"
      map.add(text, to: place)
    case .parked:
      let text = "its notifier delivers what was left to it, or the queue lets nothing start"
      map.add("\(name) is held back: \(text)", to: place)
    case .undelivered:
      let stream = "that the consumer of a suspending stream holds back"
      map.add("\(name) has changes that were left to its notifier, or \(stream)", to: place)
    case .pausing(let attempt):
      map.nodes[place].waitsForTime = true
      map.add("\(name) pauses before its attempt \(attempt)", to: place)
    case .closing:
      map.add("the hooks of \(name) are called", to: place)
    case .running:
      lookAtOperation(standing, name, place)
    case .closed:
      break
    }
  }

  private mutating func lookAtOperation(_ standing: StoreStanding, _ name: String, _ place: Int) {
    let operation = standing.operation as? any DependentOperation
    if operation?.hasEnded == true { return }
    let how: String
    switch operation?.activity {
    case .pending: return lookAtDependencies(of: operation, name, place)
    case .block, nil: how = "on a thread"
    case .task: how = "an async block"
    case .callback: how = "its block has returned, and `finish` was not called"
    }
    map.nodes[place].runsBlock = true
    let since = since(standing, place)
    map.add("runs \(name)\(since) (\(how))", to: place)
  }

  private mutating func lookAtDependencies(
    of operation: (any DependentOperation)?, _ name: String, _ place: Int
  ) {
    let dependencies = operation?.standing()?.dependencies ?? []
    var targets: [Int] = []
    for dependency in dependencies where !dependency.hasEnded {
      guard let dispatch = dependency.standing()?.dispatch, !dispatch.isOver else { continue }
      let target = meet(dispatch)
      targets.append(target)
      map.link(place, to: target, .dependency, "depends, by an operation, on one of")
    }
    map.add(
      { name_ in
        let others = targets.map(name_).joined(separator: ", ")
        return "\(name) waits for operations on which its own depends"
          + (others.isEmpty ? "" : ", of \(others)")
      }, to: place)
  }

  private func since(_ standing: StoreStanding, _ place: Int) -> String {
    let stores = map.nodes[place].trace?.present.stores ?? []
    guard let start = stores.first(where: { $0.identifier == standing.identifier })?.startedAt
    else { return "" }
    return " since \(Duration.nanoseconds(now - start).inWords)"
  }
}
