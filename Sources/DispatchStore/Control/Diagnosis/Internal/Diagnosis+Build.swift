extension Diagnosis {
  /// Takes a diagnosis of a dispatcher.
  ///
  /// - Parameter age: The time after which a running block is suspected to wait for something that the library can't
  ///   see.
  static func of(
    _ dispatcher: Dispatcher, table: InFlightTable?, suspectingAfter age: Int64
  ) -> Diagnosis {
    let traces = table?.all ?? []
    var builder = DiagnosisBuilder(dispatcher, traces)
    builder.suspect(after: age)
    let map = builder.map
    var rings = map.rings
    if !rings.isEmpty {
      rings = confirmed(rings, of: builder, dispatcher, traces)
    }
    var diagnosis = Diagnosis(dispatcher, builder, rings, hasTable: table != nil)
    diagnosis.scheduledCount = dispatcher.schedules.count
    (diagnosis.pendingEffects, diagnosis.deadLetters) = (
      dispatcher.pendingEffects, dispatcher.deadLetters
    )
    diagnosis.effects = dispatcher.progressOfEffects
    return diagnosis
  }

  /// The rings whose waits are all there at a second look: all of them were there in between.
  private static func confirmed(
    _ rings: [[Int]], of builder: DiagnosisBuilder, _ dispatcher: Dispatcher,
    _ traces: [InFlightTrace]
  ) -> [[Int]] {
    let map = builder.map
    let members = Set(rings.joined().map { map.nodes[map.links[$0].from].identity })
    let again = DiagnosisBuilder(dispatcher, traces, only: members).map
    let present = Set(again.links.map(again.identity))
    func isPresent(_ link: WaitMap.Link) -> Bool {
      guard link.kind == .mayWait else { return present.contains(map.identity(of: link)) }
      // The waiter has not moved, and the other dispatch has not ended.
      let (waiter, other) = (map.nodes[link.from], builder.sightings[link.to])
      return waiter.trace?.moved == waiter.moved && other?.dispatch.isOver != true
    }
    return rings.filter { ring in ring.allSatisfy { isPresent(map.links[$0]) } }
  }

  private init(
    _ dispatcher: Dispatcher, _ builder: DiagnosisBuilder, _ rings: [[Int]], hasTable: Bool
  ) {
    let (map, now) = (builder.map, builder.now)
    // Dispatches that have ended meanwhile, and are in no link, are left out.
    let linked = Set(map.links.flatMap { [$0.from, $0.to] })
    let shown = map.nodes.indices.filter { place in
      linked.contains(place) || builder.sightings[place]?.isOver != true
    }
    let order = shown.sorted { first, second in
      let (a, b) = (map.nodes[first], map.nodes[second])
      let (left, right) = (a.moved ?? .max, b.moved ?? .max)
      if left != right { return left < right }
      // Running dispatches before the ones that wait for them.
      if a.isWaiting != b.isWaiting { return b.isWaiting }
      return (a.id?.rawValue ?? .max) < (b.id?.rawValue ?? .max)
    }
    var numbers: [Int: Int] = [:]
    for (index, place) in order.enumerated() { numbers[place] = index + 1 }
    func name(_ place: Int) -> String {
      "\(numbers[place] ?? 0) (\(map.nodes[place].callSite))"
    }
    func edge(_ link: WaitMap.Link) -> Edge {
      Edge(
        from: numbers[link.from]!, to: numbers[link.to]!, kind: link.kind,
        label: link.label.onOneLine)
    }
    self.dispatcher = dispatcher.name
    isSuspended = dispatcher.pool.isSuspended
    self.hasTable = hasTable
    var names = dispatcher.controlTables.names.keys
    for wait in builder.pending { names[ObjectIdentifier(wait)] = wait.names }
    entries = order.map { place in
      Entry(
        numbers[place]!, map.nodes[place], names[map.nodes[place].identity, default: []],
        builder.sightings[place], at: now, name)
    }
    edges = map.links.map(edge).sorted { ($0.from, $0.to) < ($1.from, $1.to) }
    cycles = rings.map { ring in
      // Begin with the entry that has not moved for the longest time.
      let edges = ring.map { edge(map.links[$0]) }
      let first = edges.indices.min { edges[$0].from < edges[$1].from } ?? 0
      return Cycle(edges: Array(edges[first...] + edges[..<first]))
    }
  }
}

extension Diagnosis.Entry {
  fileprivate init(
    _ number: Int, _ node: WaitMap.Node, _ names: [TypedKey],
    _ sighting: DiagnosisBuilder.Sighting?, at now: Int64, _ name: (Int) -> String
  ) {
    self.number = number
    self.names = names.map(\.description)
    (id, parent, callSite) = (node.id, node.parent, node.callSite)
    (actions, mode) = (node.trace?.actions ?? [], node.trace?.mode)
    age = node.began.map { .nanoseconds(now - $0) }
    timeUnmoved = node.moved.map { .nanoseconds(now - $0) }
    isWaiting = node.isWaiting
    (waitsForQueue, waitsForTime) = (node.waitsForQueue, node.waitsForTime)
    states = node.lines.map { $0(name).onOneLine } + Self.standing(node, sighting, at: now)
  }

  /// Further states of the entry, in words.
  private static func standing(
    _ node: WaitMap.Node, _ sighting: DiagnosisBuilder.Sighting?, at now: Int64
  ) -> [String] {
    var states: [String] = []
    if sighting?.hasTimedOut == true {
      states.append("has timed out, or was refused, and goes on to its end")
    } else if sighting?.isCancelled == true {
      states.append("is cancelled")
    }
    if let deadline = node.deadline, sighting?.hasTimedOut != true {
      // A thread that runs a hook or a reduction checks the time only afterwards.
      states.append(
        deadline > now
          ? "times out in \(Duration.nanoseconds(deadline - now).inWords)"
          : "its time limit passed \(Duration.nanoseconds(now - deadline).inWords) ago")
    }
    if node.trace?.mode.isSync == true {
      states.append("the thread of its caller waits for its end")
    }
    if let count = sighting?.waiterCount, count > 0 {
      states.append("\(count) \(count == 1 ? "waits" : "wait") for its end")
    }
    return states
  }
}
