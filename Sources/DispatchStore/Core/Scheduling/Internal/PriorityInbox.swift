/// Dispatches with priorities that wait for their turn in a lane, or for the concurrent queue; without threads.
///
/// The highest priority goes first, and equal priorities go in the order in which they came. A waiting priority that
/// was passed over often in a row goes before all, so that none starves. A dispatch that keeps its place goes after
/// all that came before it, and lends them its priority. So it never holds the lane before a dispatch that it waits
/// for.
struct PriorityInbox {
  /// Priorities, in the order in which they go.
  enum Level: Int, CaseIterable {
    case veryHigh, high, normal, low, veryLow
  }

  /// The number of times in a row that a priority is passed over at most.
  static let patience = 16

  private struct Entry {
    let dispatch: Dispatch
    /// The number of dispatches that came before this one.
    let place: Int
    let keepsPlace: Bool
  }

  private var lines = Level.allCases.map { _ in FIFO<Entry>() }
  /// The number of times in a row that each priority was passed over.
  private var passes = Level.allCases.map { _ in 0 }
  private var nextPlace = 0
  /// The number of dispatches of other than normal priority that are about to be pushed, or not yet appended.
  private var expectedCount = 0

  var isEmpty: Bool { lines.allSatisfy(\.isEmpty) }

  /// Whether a plain first-in, first-out list suffices from now on.
  var isDone: Bool { expectedCount == 0 && isEmpty }

  mutating func expect() {
    expectedCount += 1
  }

  /// - Parameter keepsPlace: Whether the dispatch goes after all that came before it.
  mutating func append(_ dispatch: Dispatch, keepsPlace: Bool) {
    let level = dispatch.details?.priority
    if level != nil { expectedCount -= 1 }
    lines[(level ?? .normal).rawValue].append(
      Entry(dispatch: dispatch, place: nextPlace, keepsPlace: keepsPlace))
    nextPlace += 1
  }

  /// The dispatch that goes next.
  var first: Dispatch? {
    var passes = passes
    return nextLine(&passes).flatMap { lines[$0].first?.dispatch }
  }

  /// - Parameter isNormalWaiting: Whether dispatches of normal priority wait elsewhere.
  /// - Returns: The dispatch that goes next; nil if none waits here, or if one that waits elsewhere goes next.
  mutating func popFirst(isNormalWaiting: Bool = false) -> Dispatch? {
    nextLine(&passes, isNormalWaiting: isNormalWaiting).flatMap { lines[$0].popFirst()?.dispatch }
  }

  private func nextLine(_ passes: inout [Int], isNormalWaiting: Bool = false) -> Int? {
    // An ended dispatch, whose place is skipped, passes no priority over.
    if let line = lines.firstIndex(where: { $0.first?.dispatch.isOver == true }) { return line }
    let waiting = lines.indices.filter {
      !lines[$0].isEmpty || isNormalWaiting && $0 == Level.normal.rawValue
    }
    guard let next = waiting.last(where: { passes[$0] >= Self.patience }) ?? waiting.first else {
      return nil
    }
    for line in lines.indices {
      let isPassedOver = line > next && waiting.contains(line)
      if isPassedOver {
        passes[line] += 1
      } else if line == next || !waiting.contains(line) {
        passes[line] = 0
      }
    }
    guard lines[next].first?.keepsPlace == true, !isPlanted(.placeNotKept) else { return next }
    return waiting.min { lines[$0].first!.place < lines[$1].first!.place }
  }

  /// The waiting dispatches in the order of their turns; linear.
  var inOrder: [Dispatch] {
    var (rest, all) = (self, [Dispatch]())
    while let dispatch = rest.popFirst() { all.append(dispatch) }
    return all
  }

  /// The waiting dispatches in the order in which they came; linear.
  var inPlaceOrder: [Dispatch] {
    lines.flatMap(\.all).sorted { $0.place < $1.place }.map(\.dispatch)
  }

  /// Removes ended dispatches; returns these, to be released outside of locks, and how many are left.
  mutating func removeEnded() -> (removed: [Dispatch], rest: Int) {
    let removed = lines.indices.flatMap { line in
      lines[line].removeAll { $0.dispatch.isOver }.map(\.dispatch)
    }
    return (removed, lines.reduce(0) { $0 + $1.count })
  }
}
