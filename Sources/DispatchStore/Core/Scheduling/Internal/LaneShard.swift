/// Named lanes that are not idle, and a few retired ones to reuse.
///
/// Keys are compared outside the lock, since that calls the user's code. Under the lock, lanes are compared by the
/// hash of their keys and by identity.
final class LaneShard: Sendable {
  private let state = Locked(State())
  private static let mostSpare = 8

  private struct State {
    /// Lanes by the hash of their keys; usually one for each.
    var lanes: [Int: ShortList<Lane>] = [:]
    /// Retired lanes without keys and without other references.
    var spare: [Lane] = []
  }

  var count: Int {
    state.withLock { $0.lanes.values.reduce(0) { $0 + $1.count } }
  }

  /// Returns the lane of this name, and makes it if there is none; see `LaneTable.lane(_:pool:)`.
  func lane(_ key: TypedKey, pool: ConcurrentPool) -> Lane {
    while true {
      yieldPoint(.findLane, key.description)
      let (present, reused) = state.withLock { state -> (ShortList<Lane>, Lane?) in
        if let present = state.lanes[key.hash] { return (present, nil) }
        guard let lane = state.spare.popLast() else { return (ShortList(), nil) }
        lane.begin(key, in: self)
        state.lanes[key.hash] = ShortList(lane)
        return (ShortList(), lane)
      }
      // A retired lane may still be there: it is empty, so the order is kept.
      if let lane = reused ?? present.first(where: { $0.hasKey(key) }) { return lane }
      let lane = Lane(pool: pool)
      lane.begin(key, in: self)
      // If there was no lane, no other thread may come between, as is the case when a spare one is used. Which lanes
      // are spare differs between builds and processes, since the shards hold different lanes.
      if !present.isEmpty { yieldPoint(.findLane, key.description) }
      if insert(lane, beside: present, at: key.hash) { return lane }
    }
  }

  /// Inserts a lane; returns false if another thread has changed the lanes of this hash meanwhile.
  private func insert(_ lane: Lane, beside present: ShortList<Lane>, at hash: Int) -> Bool {
    state.withLock { state in
      let isSame = state.lanes[hash, default: ShortList()].elementsEqual(present, by: ===)
      guard isSame || isPlanted(.doubleLane) else { return false }
      state.lanes[hash, default: ShortList()].append(lane)
      return true
    }
  }

  /// Removes a lane that has retired.
  func remove(_ lane: Lane, at hash: Int) {
    yieldPoint(.retire, lane.description)
    state.withLock { state in
      guard var lanes = state.lanes[hash], let index = lanes.firstIndex(where: { $0 === lane })
      else { return }
      _ = lanes.remove(at: index)
      state.lanes[hash] = lanes.isEmpty || isPlanted(.lostNamesakes) ? nil : lanes
    }
  }

  /// Keeps a retired lane for reuse; the caller has the only reference.
  func keep(_ lane: Lane) {
    state.withLock { state in
      if state.spare.count < Self.mostSpare { state.spare.append(lane) }
    }
  }
}
