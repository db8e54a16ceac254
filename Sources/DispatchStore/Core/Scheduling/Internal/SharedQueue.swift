import Foundation
import Synchronization

/// An `OperationQueue` with the pools of all dispatchers that use it.
///
/// A single lock guards the states of the pools, which together count the taken places of the queue.
final class SharedQueue: Sendable {
  let queue: OperationQueue
  let state = Locked(State())
  /// The number of waits that are known to be for work on this queue.
  ///
  /// Counts waits of blocked threads, and of tasks for which such threads may wait.
  private let waits = Atomic(0)
  private let isShared = Atomic(false)

  struct State {
    fileprivate(set) var pools: [ConcurrentPool] = []
    /// The running workers of all pools.
    var running = 0
    /// The user's operations on the queue that wait inside the library.
    fileprivate(set) var waitingOperations = 0
  }

  init(_ queue: OperationQueue) {
    self.queue = queue
  }

  var pools: [ConcurrentPool] { state.withLock(\.pools) }

  func add(_ pool: ConcurrentPool) {
    state.withLock { state in
      state.pools.append(pool)
      isShared.store(state.pools.count > 1, ordering: .relaxed)
    }
  }

  /// Removes a pool; returns whether another pool is left.
  func remove(_ pool: ConcurrentPool) -> Bool {
    state.withLock { state in
      state.pools.removeAll { $0 === pool }
      isShared.store(state.pools.count > 1, ordering: .relaxed)
      return !state.pools.isEmpty
    }
  }

  // MARK: Waits

  /// Offers a free place to the other pools, since a worker of a pool has left or waits.
  ///
  /// The pool has looked for its own work already.
  func placeIsFree(after pool: ConcurrentPool) {
    guard isShared.load(ordering: .relaxed) else { return }
    for other in pools where other !== pool && other.usesFreePlaces { other.seeToWork() }
  }

  /// Whether a wait is known to be for work on this queue.
  var isAwaited: Bool { waits.load(ordering: .sequentiallyConsistent) > 0 }

  func beginWait() {
    waits.add(1, ordering: .sequentiallyConsistent)
  }

  func endWait() {
    waits.subtract(1, ordering: .sequentiallyConsistent)
  }

  /// Notes that a user's operation begins to wait inside the library: its place may be taken meanwhile.
  func operationWaits() {
    state.withLock { $0.waitingOperations += 1 }
  }

  func operationHasWaited() {
    state.withLock { $0.waitingOperations -= 1 }
  }

  /// The number of the user's operations that the queue runs, and that do not wait inside the library.
  var otherOperations: Int {
    let running = queue.operations.count { $0.isExecuting && !($0 is Drainer) }
    return max(0, running - state.withLock(\.waitingOperations))
  }
}
