/// The order in which the ends of dispatches pass: that of their lanes, without threads.
struct EndOrder {
  /// The ends that have not passed, by lane, in order.
  private var lanes: [LaneIdentity: FIFO<PendingEnd>] = [:]

  /// Adds an end behind the others of its lanes.
  mutating func enter(_ end: PendingEnd) {
    for lane in end.lanes {
      if lanes[lane] == nil { lanes[lane] = FIFO() } else { end.missing += 1 }
      if isPlanted(.endsOutOfOrder) { end.missing = 0 }
      lanes[lane]!.append(end)
    }
  }

  /// Removes an end that has passed; returns the ends that may pass now.
  mutating func left(_ end: PendingEnd) -> [PendingEnd] {
    var ready: [PendingEnd] = []
    for lane in end.lanes {
      _ = lanes[lane]?.popFirst()
      guard let next = lanes[lane]?.first else {
        lanes[lane] = nil
        continue
      }
      next.missing -= 1
      if next.isSaved, next.missing == 0 { ready.append(next) }
    }
    return ready
  }
}
