import Foundation
import Synchronization

/// The outcomes of a replay's actions: how many were dispatched, how long some took, and which failed first.
final class ReplayOutcome: @unchecked Sendable {
  // Unchecked because: its changing state is atomic, or only touched while `lock` is held.
  private let dispatchedCount = Atomic(0)
  private let lock = NSLock()
  private var recorded = LatencyHistogram()
  private var failure: (number: Int, error: any Error)?

  /// The number of dispatched actions.
  var dispatched: Int { dispatchedCount.load(ordering: .relaxed) }

  func add(dispatched count: Int) {
    dispatchedCount.wrappingAdd(count, ordering: .relaxed)
  }

  /// Records the duration of an action.
  func record(_ nanoseconds: UInt64) {
    lock.withLock { recorded.record(max(1, nanoseconds)) }
  }

  /// Records the error of the event with this number.
  func fail(at number: Int, _ error: any Error) {
    lock.withLock {
      if let failure, failure.number < number { return }
      failure = (number, error)
    }
  }

  var latencies: LatencyHistogram { lock.withLock { recorded } }

  /// The first event in the history that failed, with its error.
  var firstFailure: (number: Int, error: any Error)? { lock.withLock { failure } }
}
