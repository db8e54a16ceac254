extension DiagnosisBuilder {
  /// Links the dispatches that wait in lanes with the holder, and with the last one before them that is held back.
  ///
  /// Each has at most two links, however long the lane is.
  mutating func followLanes() {
    // Kept, so that a dispatch found in a lane has its lane as long as it is looked at.
    var lanes: [ObjectIdentifier: Lane] = [:]
    for sighting in sightings.values where sighting.isWaiting {
      for (lane, _) in sighting.place?.turns(of: sighting.dispatch) ?? [] {
        lanes[ObjectIdentifier(lane)] = lane
      }
    }
    let inOrder = lanes.values.map { lane in (lane, lane.order) }
    for (_, order) in inOrder { holdBackInOtherLanes(order) }
    for (lane, order) in inOrder { follow(order, of: lane) }
  }

  /// Notes the dispatches in several lanes that are not first here: they can't start in another lane either.
  private mutating func holdBackInOtherLanes(_ order: LaneOrder) {
    for (index, dispatch) in order.waiting.enumerated() where index > 0 || order.holder != nil {
      guard let place = map.place(of: ObjectIdentifier(dispatch)),
        sightings[place]?.place is LaneSet
      else { continue }
      map.nodes[place].isHeldBack = true
    }
  }

  private mutating func follow(_ order: LaneOrder, of lane: Lane) {
    let name = lane.description
    let isSuspended = lane.isSuspended
    let holder = order.holder.flatMap { placeOfHolder($0) }
    var heldBack: Int?
    for (index, dispatch) in order.waiting.enumerated() {
      guard let place = map.place(of: ObjectIdentifier(dispatch)), let sighting = sightings[place],
        sighting.isWaiting, holder != place
      else { continue }
      let isHeldBack = map.nodes[place].isHeldBack
      if let holder {
        map.link(place, to: holder, .lane, "is queued in \(name) behind")
      }
      if let heldBack { map.link(place, to: heldBack, .lane, "is queued in \(name) behind") }
      if !isHeldBack || index > 0 || holder != nil {
        let behind = [holder, heldBack].compactMap { $0 }
        map.add(Self.turn(index, name, behind, isSuspended), to: place)
      }
      if holder == nil, !isHeldBack, heldBack == nil {
        map.nodes[place].waitsForQueue = true
      }
      if isHeldBack { heldBack = place }
    }
  }

  /// The node of a lane's holder; nil if that has ended, and is about to release its lane.
  private mutating func placeOfHolder(_ holder: Dispatch) -> Int? {
    guard let place = map.place(of: ObjectIdentifier(holder)) else {
      return meet(holder, isKept: false)
    }
    return sightings[place] != nil && holder.isOver ? nil : place
  }

  private static func turn(
    _ index: Int, _ lane: String, _ behind: [Int], _ isSuspended: Bool
  ) -> WaitMap.Line {
    { name in
      var text = "waits for its turn in \(lane), as number \(index + 1)"
      if !behind.isEmpty { text += ", behind " + behind.map(name).joined(separator: " and ") }
      if isSuspended, behind.isEmpty { text += "; the queue is suspended" }
      return text
    }
  }
}
