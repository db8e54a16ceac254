import Synchronization

/// Counts from any thread, without a lock; to be awaited until it is full.
final class EventCount: Sendable {
  private let counted = Atomic(0)
  private let goal: Int
  private let reached = Latch()

  init(of goal: Int) {
    self.goal = goal
  }

  var count: Int { counted.load(ordering: .acquiring) }

  /// Counts one more, and returns how many that makes.
  @discardableResult
  func add() -> Int {
    let count = counted.add(1, ordering: .acquiringAndReleasing).newValue
    if count == goal { reached.open() }
    return count
  }

  func full() async {
    await reached.opened()
  }
}
