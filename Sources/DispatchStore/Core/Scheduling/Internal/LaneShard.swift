/// Named lanes that are not idle, and a few retired ones to reuse.
///
/// Keys are compared outside the lock, since that calls the user's code. Under the lock, lanes are compared by the
/// hash of their keys and by identity.
final class LaneShard: Sendable {
  private let state = Locked(State())
  private static let mostSpare = 8

  private struct State {
    /// Lanes by the hash of their keys.
    var lanes: [Int: Namesakes] = [:]
    /// Retired lanes without keys and without other references.
    var spare: [Lane] = []
  }

  /// The lanes whose keys have the same hash; usually one.
  private struct Namesakes {
    var first: Lane
    var others: [Lane] = []

    func lane(of key: TypedKey) -> Lane? {
      if first.hasKey(key) { return first }
      return others.first { $0.hasKey(key) }
    }

    func areSame(as present: Namesakes?) -> Bool {
      present.map { first === $0.first && others.elementsEqual($0.others, by: ===) } ?? false
    }

    /// Returns the lanes that are left without one; nil if that was the last.
    func without(_ lane: Lane) -> Namesakes? {
      guard first === lane else {
        return Namesakes(first: first, others: others.filter { $0 !== lane })
      }
      if isPlanted(.lostNamesakes) { return nil }
      return others.first.map { Namesakes(first: $0, others: Array(others.dropFirst())) }
    }
  }

  var count: Int {
    state.withLock { $0.lanes.values.reduce(0) { $0 + 1 + $1.others.count } }
  }

  /// Returns the lane of this name, and makes it if there is none; see `LaneTable.lane(_:pool:)`.
  func lane(_ key: TypedKey, pool: ConcurrentPool) -> Lane {
    while true {
      yieldPoint(.findLane, key.description)
      let (present, reused) = state.withLock { state -> (Namesakes?, Lane?) in
        if let present = state.lanes[key.hash] { return (present, nil) }
        guard let lane = state.spare.popLast() else { return (nil, nil) }
        lane.begin(key, in: self)
        state.lanes[key.hash] = Namesakes(first: lane)
        return (nil, lane)
      }
      // A retired lane may still be there: it is empty, so the order is kept.
      if let lane = reused ?? present?.lane(of: key) { return lane }
      let lane = Lane(pool: pool)
      lane.begin(key, in: self)
      // If there was no lane, no other thread may come between, as is the case when a spare one is used. Which lanes
      // are spare differs between builds and processes, since the shards hold different lanes.
      if present != nil { yieldPoint(.findLane, key.description) }
      if insert(lane, beside: present, at: key.hash) { return lane }
    }
  }

  /// Inserts a lane; returns false if another thread has changed the lanes of this hash meanwhile.
  private func insert(_ lane: Lane, beside present: Namesakes?, at hash: Int) -> Bool {
    state.withLock { state in
      guard var namesakes = state.lanes[hash] else {
        if present == nil { state.lanes[hash] = Namesakes(first: lane) }
        return present == nil
      }
      guard namesakes.areSame(as: present) || isPlanted(.doubleLane) else { return false }
      namesakes.others.append(lane)
      state.lanes[hash] = namesakes
      return true
    }
  }

  /// Removes a lane that has retired.
  func remove(_ lane: Lane, at hash: Int) {
    yieldPoint(.retire, lane.description)
    state.withLock { state in
      if let namesakes = state.lanes[hash] { state.lanes[hash] = namesakes.without(lane) }
    }
  }

  /// Keeps a retired lane for reuse; the caller has the only reference.
  func keep(_ lane: Lane) {
    state.withLock { state in
      if state.spare.count < Self.mostSpare { state.spare.append(lane) }
    }
  }
}
