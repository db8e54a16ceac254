/// What waits for its turn in a lane where dispatches have priorities, without threads.
///
/// The highest priority goes first, and equal ones in the order in which they came. One that keeps its place goes after
/// all that came before it, and lends them its priority: so it never holds the lane before something that it waits for.
struct PriorityInbox {
  private struct Entry {
    let dispatch: Dispatch
    /// How many came before it.
    let place: Int
    let keepsPlace: Bool
  }

  private var lines = PriorityLine.Level.allCases.map { _ in FIFO<Entry>() }
  private var turns = PriorityTurns()
  private var nextPlace = 0
  /// How many of another priority than the normal one are about to be pushed, or were and have not been appended.
  private var expectedCount = 0

  var isEmpty: Bool { lines.allSatisfy(\.isEmpty) }

  /// Whether a first-in, first-out line does the same from now on.
  var isDone: Bool { expectedCount == 0 && isEmpty }

  mutating func expect() {
    expectedCount += 1
  }

  /// - Parameter keepsPlace: Whether it goes after all that came before it.
  mutating func append(_ dispatch: Dispatch, keepsPlace: Bool) {
    let level = dispatch.details?.priority
    if level != nil { expectedCount -= 1 }
    lines[(level ?? .normal).rawValue].append(
      Entry(dispatch: dispatch, place: nextPlace, keepsPlace: keepsPlace))
    nextPlace += 1
  }

  /// The one that goes next.
  var first: Dispatch? {
    var turns = turns
    return nextLine(&turns).flatMap { lines[$0].first?.dispatch }
  }

  mutating func popFirst() -> Dispatch? {
    nextLine(&turns).flatMap { lines[$0].popFirst()?.dispatch }
  }

  private func nextLine(_ turns: inout PriorityTurns) -> Int? {
    // One that has ended, whose place is skipped, passes none over.
    if let line = lines.firstIndex(where: { $0.first?.dispatch.isOver == true }) { return line }
    let waiting = PriorityLine.Level.allCases.filter { !lines[$0.rawValue].isEmpty }
    guard let next = turns.next(among: waiting), let first = lines[next.rawValue].first else {
      return nil
    }
    guard first.keepsPlace, !isPlanted(.placeNotKept) else { return next.rawValue }
    return waiting.map(\.rawValue).min { lines[$0].first!.place < lines[$1].first!.place }
  }

  /// Those that wait, in the order of their turns; linear.
  var inOrder: [Dispatch] {
    var (rest, all) = (self, [Dispatch]())
    while let dispatch = rest.popFirst() { all.append(dispatch) }
    return all
  }

  /// The same in the order in which they came.
  var inPlaceOrder: [Dispatch] {
    lines.flatMap(\.all).sorted { $0.place < $1.place }.map(\.dispatch)
  }

  /// Removes those that have ended; these, to be released outside of locks, and how many are left.
  mutating func removeEnded() -> (removed: [Dispatch], rest: Int) {
    var (removed, rest) = ([Dispatch](), 0)
    for index in lines.indices {
      var present = FIFO<Entry>()
      for entry in lines[index].all {
        if entry.dispatch.isOver {
          removed.append(entry.dispatch)
        } else {
          present.append(entry)
          rest += 1
        }
      }
      lines[index] = present
    }
    return (removed, rest)
  }
}
