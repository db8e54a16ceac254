import Foundation
import Synchronization

/// Holds a reader back while as many actions as are allowed are unfinished: what a latency measures is
/// then not the depth of a queue.
final class InFlightLimiter: @unchecked Sendable {
  // Unchecked because: what changes is atomic, but for `held`, which is only touched under `condition`.
  private let condition = NSCondition()
  private let limit: Int
  private let refillLevel: Int
  private let unfinished = Atomic(0)
  /// Those who wait; written under `condition`.
  private let held = Atomic(0)

  init(limit: Int) {
    precondition(limit > 0, "With no action allowed in flight, none could ever start.")
    self.limit = limit
    // A reader woken for every single action would cost more than the action.
    refillLevel = limit - max(1, limit / 4)
  }

  /// Waits until another action may start.
  ///
  /// Blocks the calling thread.
  func acquire() {
    while true {
      let present = unfinished.load(ordering: .sequentiallyConsistent)
      if present >= limit {
        hold { $0 > refillLevel }
      } else if unfinished.weakCompareExchange(
        expected: present, desired: present + 1, ordering: .sequentiallyConsistent
      ).exchanged {
        return
      }
    }
  }

  /// Takes note that an action has ended.
  func release() {
    let left = unfinished.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue
    // Every wait ends at one of these levels. Whoever waits has written that before it looked at the
    // level, and this is read after the level was written: one of the two sees the other.
    if left == refillLevel || left == 0, held.load(ordering: .sequentiallyConsistent) > 0 {
      condition.withLock { condition.broadcast() }
    }
  }

  /// Waits until every action has ended.
  func waitUntilIdle() {
    while unfinished.load(ordering: .sequentiallyConsistent) > 0 { hold { $0 > 0 } }
  }

  private func hold(while isTooMany: (Int) -> Bool) {
    condition.withLock {
      held.wrappingAdd(1, ordering: .sequentiallyConsistent)
      while isTooMany(unfinished.load(ordering: .sequentiallyConsistent)) { condition.wait() }
      held.wrappingSubtract(1, ordering: .sequentiallyConsistent)
    }
  }
}
