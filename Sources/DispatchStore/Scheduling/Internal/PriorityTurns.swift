/// Which of several priorities goes next, without threads.
///
/// The highest one that waits. One that has been passed over so often in a row while something of it waited goes before
/// all: none starves.
struct PriorityTurns {
  private var passes = PriorityLine.Level.allCases.map { _ in 0 }

  /// The priority that goes next; nil where none waits.
  ///
  /// - Parameter waiting: Those of which something waits, the highest first.
  mutating func next(among waiting: [PriorityLine.Level]) -> PriorityLine.Level? {
    let impatient = waiting.last { passes[$0.rawValue] >= PriorityLine.patience }
    guard let next = impatient ?? waiting.first else { return nil }
    for level in PriorityLine.Level.allCases {
      let isPassedOver = level.rawValue > next.rawValue && waiting.contains(level)
      if isPassedOver {
        passes[level.rawValue] += 1
      } else if level == next || !waiting.contains(level) {
        passes[level.rawValue] = 0
      }
    }
    return next
  }
}
