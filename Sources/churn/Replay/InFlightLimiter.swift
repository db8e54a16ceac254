import Foundation

/// Holds a reader back while as many actions as are allowed are unfinished: what a latency measures is
/// then not the depth of a queue.
final class InFlightLimiter: @unchecked Sendable {
  // Unchecked because: everything that changes is only touched while `condition` is locked.
  private let condition = NSCondition()
  private let limit: Int
  private let refillLevel: Int
  private var unfinished = 0
  private var held = 0

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
    condition.withLock {
      while unfinished >= limit { hold() }
      unfinished += 1
    }
  }

  /// Takes note that an action has ended.
  func release() {
    condition.withLock {
      unfinished -= 1
      // Every wait began above one of these levels and ends at it, so that none can be missed.
      if held > 0, unfinished == refillLevel || unfinished == 0 { condition.broadcast() }
    }
  }

  /// Waits until every action has ended.
  func waitUntilIdle() {
    condition.withLock {
      while unfinished > 0 { hold() }
    }
  }

  private func hold() {
    held += 1
    condition.wait()
    held -= 1
  }
}
