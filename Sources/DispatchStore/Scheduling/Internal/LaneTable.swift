/// The named lanes that are not idle.
///
/// Keys are compared outside the lock, since that calls the user's code: under it, lanes are compared by
/// the hash of their keys and by identity.
final class LaneTable: Sendable {
  private let lanes = Locked<[Int: [Lane]]>([:])

  var count: Int { lanes.withLock { $0.values.reduce(0) { $0 + $1.count } } }

  /// The lane of this name, made where there is none.
  ///
  /// It may retire before the caller has pushed a dispatch to it; the caller then looks it up again.
  func lane(_ key: LaneKey, pool: ConcurrentPool) -> Lane {
    while true {
      yieldPoint(.findLane, key.description)
      let present = lanes.withLock { $0[key.hash] ?? [] }
      let namesake = present.first { $0.key == key }
      if let namesake, !namesake.isRetired { return namesake }
      // A lane that has just retired may still be there: it is empty, so the order is kept.
      let lane = Lane(key: key, pool: pool) { [weak self] lane in self?.remove(lane) }
      yieldPoint(.findLane, key.description)
      if replace(present, at: key.hash, by: present.filter { $0 !== namesake } + [lane]) {
        return lane
      }
    }
  }

  /// False where another thread has changed the lanes of this hash meanwhile.
  private func replace(_ present: [Lane], at hash: Int, by lanes: [Lane]) -> Bool {
    self.lanes.withLock { table in
      guard (table[hash] ?? []).elementsEqual(present, by: ===) else { return false }
      table[hash] = lanes
      return true
    }
  }

  private func remove(_ lane: Lane) {
    guard let hash = lane.key?.hash else { return }
    yieldPoint(.retire, lane.description)
    lanes.withLock { lanes in
      lanes[hash]?.removeAll { $0 === lane }
      if lanes[hash]?.isEmpty == true { lanes[hash] = nil }
    }
  }
}
