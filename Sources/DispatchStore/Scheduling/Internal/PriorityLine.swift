/// Dispatches of other priorities than the normal one, which wait for the concurrent queue; without threads.
///
/// The highest priority goes first, and none starves (`PriorityTurns`).
struct PriorityLine {
  /// In the order in which they go.
  enum Level: Int, CaseIterable {
    case veryHigh, high, normal, low, veryLow
  }

  /// How often one is passed over at most.
  static let patience = 16

  private var lines = Level.allCases.map { _ in DispatchFIFO() }
  private var turns = PriorityTurns()

  mutating func append(_ dispatch: Dispatch, _ level: Level) {
    lines[level.rawValue].append(dispatch)
  }

  mutating func popFirst(_ level: Level) -> Dispatch? { lines[level.rawValue].popFirst() }

  /// The priority that goes next; nil where nothing waits.
  ///
  /// - Parameter isNormalWaiting: Whether something of normal priority waits, elsewhere.
  mutating func next(isNormalWaiting: Bool) -> Level? {
    turns.next(
      among: Level.allCases.filter { level in
        level == .normal ? isNormalWaiting : !lines[level.rawValue].isEmpty
      })
  }

  /// Removes those that have ended; these, to be released outside of locks, and how many are left.
  mutating func removeEnded() -> (removed: [Dispatch], rest: Int) {
    lines.indices.reduce(into: ([], 0)) { result, index in
      let (removed, rest) = lines[index].removeEnded()
      result.removed += removed
      result.rest += rest
    }
  }
}
