/// The number of ended dispatches that still wait, which decides when they are removed.
///
/// If many dispatches are cancelled behind a slow one, memory stays bounded by those that have not ended. A removal
/// takes a step for each of these, and comes only after as many have ended.
struct SkippedDispatches {
  /// The number of ended dispatches below which none is removed; small in a simulation, so that it comes to removals.
  private var least: Int { ThreadState.current.simulated == nil ? 64 : 2 }
  private var count = 0
  private var rest = 0

  /// Counts an ended dispatch; returns whether the ended ones are to be removed now.
  mutating func note() -> Bool {
    count += 1
    if count < max(least, rest) { return false }
    count = 0
    return true
  }

  /// Notes that the ended dispatches were removed, and how many dispatches are left.
  mutating func removed(leaving rest: Int) {
    self.rest = rest
  }
}
