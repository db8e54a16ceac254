/// How many dispatches wait that have ended, and when they are to be removed.
///
/// Where many are cancelled behind one that takes long, memory stays bounded by those that have not ended; a removal
/// costs each of these a step, and comes only after as many have ended.
struct SkippedDispatches {
  /// So many are never removed; fewer in a simulation, which is to come to that.
  private var least: Int { ThreadState.current.simulated == nil ? 64 : 2 }
  private var count = 0
  private var rest = 0

  /// One has ended; whether those that have are to be removed now.
  mutating func note() -> Bool {
    count += 1
    if count < max(least, rest) { return false }
    count = 0
    return true
  }

  /// They were removed, and so many are left.
  mutating func removed(leaving rest: Int) {
    self.rest = rest
  }
}
