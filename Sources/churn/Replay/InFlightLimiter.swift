import Foundation
import Synchronization

/// Blocks a producer while as many actions as allowed are in flight, so that a latency does not measure the
/// depth of a queue.
final class InFlightLimiter: @unchecked Sendable {
  // Unchecked because: its changing state is atomic; `waiterCount` is written only under `condition`.
  private let condition = NSCondition()
  private let limit: Int
  private let refillLevel: Int
  private let unfinished = Atomic(0)
  /// The number of waiting threads; written under `condition`.
  private let waiterCount = Atomic(0)

  init(limit: Int) {
    precondition(limit > 0, "With no action allowed in flight, none could ever start.")
    self.limit = limit
    // Waking the producer for every single action would cost more than the action.
    refillLevel = limit - max(1, limit / 4)
  }

  /// The number of actions in flight.
  var count: Int { unfinished.load(ordering: .relaxed) }

  /// Waits until another action may start.
  ///
  /// Blocks the calling thread.
  func acquire() {
    while true {
      let present = unfinished.load(ordering: .sequentiallyConsistent)
      if present >= limit {
        block { $0 > refillLevel }
      } else if unfinished.weakCompareExchange(
        expected: present, desired: present + 1, ordering: .sequentiallyConsistent
      ).exchanged {
        return
      }
    }
  }

  /// Counts an action as ended.
  func release() {
    let left = unfinished.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue
    // Every wait ends at one of these levels. A waiting thread counts itself before it reads the level, and
    // this thread reads that count after it has written the level, so one of the two sees the other.
    if left == refillLevel || left == 0, waiterCount.load(ordering: .sequentiallyConsistent) > 0 {
      condition.withLock { condition.broadcast() }
    }
  }

  /// Waits until every action has ended.
  func waitUntilIdle() {
    while unfinished.load(ordering: .sequentiallyConsistent) > 0 { block { $0 > 0 } }
  }

  private func block(while isTooMany: (Int) -> Bool) {
    condition.withLock {
      waiterCount.wrappingAdd(1, ordering: .sequentiallyConsistent)
      while isTooMany(unfinished.load(ordering: .sequentiallyConsistent)) { condition.wait() }
      waiterCount.wrappingSubtract(1, ordering: .sequentiallyConsistent)
    }
  }
}
