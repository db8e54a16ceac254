/// The turns of one dispatch in several lanes, without threads.
///
/// Lanes have numbers. In lane 0 the dispatch waits itself; in each other lane a place waits for it.
struct LaneTurns {
  private enum Phase {
    /// The places in these lanes have not come up. Can become first, or left.
    case waiting(in: Set<Int>)
    /// All places have come up, and hold their lanes. Can become left.
    case first
    /// The dispatch has ended.
    case left
  }

  private var phase: Phase

  init(laneCount: Int) {
    phase = .waiting(in: Set(1..<laneCount))
  }

  /// Whether the dispatch may start in its turn in lane 0: it is first in each other lane.
  var areFirst: Bool { if case .first = phase { true } else { isPlanted(.firstInOneLane) } }

  /// The lanes in which places have not come up.
  var waiting: [Int] { if case .waiting(let lanes) = phase { lanes.sorted() } else { [] } }

  /// Notes that the place in a lane has come up; returns whether the dispatch may start now.
  mutating func cameUp(in lane: Int) -> Bool {
    guard case .waiting(var lanes) = phase, lanes.remove(lane) != nil else { return false }
    phase = lanes.isEmpty ? .first : .waiting(in: lanes)
    return lanes.isEmpty
  }

  /// Notes that the calling task has acquired all lanes.
  mutating func acquire() {
    phase = .first
  }

  /// Notes that the dispatch has ended; returns whether it had not before.
  mutating func leave() -> Bool {
    if case .left = phase { return false }
    phase = .left
    return true
  }
}
