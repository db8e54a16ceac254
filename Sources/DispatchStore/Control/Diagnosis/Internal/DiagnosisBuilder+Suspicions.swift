extension DiagnosisBuilder {
  /// Links blocks that have run for long, and are not known to wait, with the dispatches that they may wait for.
  ///
  /// These are their own dispatches, and the first dispatch that their lane holds back, if there are unknown waiters
  /// for it.
  ///
  /// - Parameter age: The minimal time that a block has run, in nanoseconds.
  mutating func suspect(after age: Int64) {
    var isWaitingInCode: Set<Int> = []
    // The number of known waits for each node.
    var waiters: [Int: Int] = [:]
    var behind: [Int: Int] = [:]
    for link in map.links {
      switch link.kind {
      case .awaits:
        isWaitingInCode.insert(link.from)
        waiters[link.to, default: 0] += 1
      case .after, .action, .dependency: waiters[link.to, default: 0] += 1
      case .lane where behind[link.to] == nil: behind[link.to] = link.from
      case .lane, .holdsBack, .mayWait: break
      }
    }
    func isSuspect(_ place: Int) -> Bool {
      let node = map.nodes[place]
      guard node.runsBlock, !isWaitingInCode.contains(place), let moved = node.moved else {
        return false
      }
      return now - moved >= age
    }
    var byParent: [DispatchID: [Int]] = [:]
    for (place, node) in map.nodes.enumerated() {
      if let parent = node.parent, node.trace?.caller == nil, sightings[place]?.isOver != true {
        byParent[parent, default: []].append(place)
      }
    }
    for place in map.nodes.indices where isSuspect(place) {
      var suspects = map.nodes[place].id.flatMap { byParent[$0] } ?? []
      if let first = behind[place], sightings[first]?.waiterCount ?? 0 > waiters[first] ?? 0 {
        suspects.append(first)
      }
      for suspect in suspects where suspect != place {
        map.link(place, to: suspect, .mayWait, "may wait for")
      }
      let named = Set(suspects).subtracting([place]).sorted()
      if named.isEmpty { continue }
      map.add(
        { name in "may wait for \(named.prefix(3).map(name).joined(separator: ", "))" },
        to: place)
    }
  }
}
