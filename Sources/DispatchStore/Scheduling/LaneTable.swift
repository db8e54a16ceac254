/// The named lanes that have something to do.
///
/// Lock order: the table, then a lane.
final class LaneTable: Sendable {
  private let lanes = Locked<[LaneKey: Lane]>([:])

  var count: Int { lanes.withLock { $0.count } }

  /// The lane of this name, made where there is none, and kept until a dispatch was pushed to it.
  func reserve(_ key: LaneKey, pool: ConcurrentPool) -> Lane {
    lanes.withLock { lanes in
      if let lane = lanes[key], lane.reserve() { return lane }
      // One that has just retired is still there: it has run empty, so the order is kept.
      let lane = Lane(key: key, pool: pool) { [weak self] lane in self?.remove(lane, at: key) }
      _ = lane.reserve()
      lanes[key] = lane
      return lane
    }
  }

  private func remove(_ lane: Lane, at key: LaneKey) {
    lanes.withLock { lanes in
      if lanes[key] === lane { lanes[key] = nil }
    }
  }
}
