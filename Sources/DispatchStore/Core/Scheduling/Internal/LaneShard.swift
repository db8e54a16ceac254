/// Named lanes that are not idle, and a few that have retired, to be used again.
///
/// Keys are compared outside the lock, since that calls the user's code: under it, lanes are compared by
/// the hash of their keys and by identity.
final class LaneShard: Sendable {
  private let state = Locked(State())
  private static let mostSpare = 8

  private struct State {
    /// By the hash of their keys.
    var lanes: [Int: Namesakes] = [:]
    /// Without keys, and without other references.
    var spare: [Lane] = []
  }

  /// The lanes of one hash; mostly one.
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

    /// Those that are left without one; nil where that was the last.
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

  /// As `LaneTable.lane(_:pool:)`.
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
      // One that has retired may still be there: it is empty, so the order is kept.
      if let lane = reused ?? present?.lane(of: key) { return lane }
      let lane = Lane(pool: pool)
      lane.begin(key, in: self)
      // Where there was none, no other thread may come between, as where a spare one is used: which lanes are spare
      // differs between builds, and between processes, which differ in what is in the same shard.
      if present != nil { yieldPoint(.findLane, key.description) }
      if insert(lane, beside: present, at: key.hash) { return lane }
    }
  }

  /// False where another thread has changed the lanes of this hash meanwhile.
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

  /// A lane has retired.
  func remove(_ lane: Lane, at hash: Int) {
    yieldPoint(.retire, lane.description)
    state.withLock { state in
      if let namesakes = state.lanes[hash] { state.lanes[hash] = namesakes.without(lane) }
    }
  }

  /// Keeps a lane that has retired, and to which the caller has the only reference.
  func keep(_ lane: Lane) {
    state.withLock { state in
      if state.spare.count < Self.mostSpare { state.spare.append(lane) }
    }
  }
}
