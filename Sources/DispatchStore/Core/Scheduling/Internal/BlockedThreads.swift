import Foundation
import Synchronization

/// The threads that block inside the library, and the queues whose work they may wait for.
///
/// There is one for the process, and one for each simulated world.
package final class BlockedThreads: Sendable {
  static let ofProcess = BlockedThreads()

  private let count = Atomic(0)
  /// Those of them that are the library's, each of which another one may have to replace.
  private let lent = Atomic(0)
  /// With so many, what would block another one of the library's threads is refused.
  static let mostLent = 2_048
  private let state = Locked(State())

  private struct State {
    var queues: [ObjectIdentifier: SharedQueue] = [:]
    var pools: [ConcurrentPool] = []
  }

  package init() {}

  /// Of the process, or of the simulated world of the calling thread.
  static func here(on thread: ThreadState) -> BlockedThreads {
    thread.simulated?.world.blockedThreads ?? ofProcess
  }

  package var isEmpty: Bool { count.load(ordering: .sequentiallyConsistent) == 0 }

  /// The calling thread is about to block: all work that is queued may be what it waits for.
  ///
  /// Those that push need not know: while a thread blocks, the monitor looks after what is queued.
  ///
  /// - Parameter isLent: Whether it is one of the library's.
  func begin(isLent: Bool) {
    if isLent { lent.add(1, ordering: .relaxed) }
    guard count.add(1, ordering: .sequentiallyConsistent).oldValue == 0 else { return }
    if self === Self.ofProcess { StallMonitor.ofProcess.keepRunning() }
  }

  func end(isLent: Bool) {
    if isLent { lent.subtract(1, ordering: .relaxed) }
    count.subtract(1, ordering: .sequentiallyConsistent)
  }

  /// Whether no more of the library's threads may block.
  var isFull: Bool { lent.load(ordering: .relaxed) >= Self.mostLent }

  /// Checks whether the queues of all dispatchers begin their drainers.
  ///
  /// - Returns: Whether it has to be checked again.
  package func checkQueues() -> Bool {
    let threadsBlock = !isEmpty
    var isNecessary = threadsBlock
    for pool in state.withLock(\.pools) where pool.check(threadsBlock: threadsBlock) {
      isNecessary = true
    }
    return isNecessary
  }

  /// Whether a queue has a drainer to begin.
  var hasQueuedWork: Bool { state.withLock { $0.pools.contains(where: \.isQueued) } }

  // MARK: Queues

  /// A queue that some dispatcher uses.
  func find(_ queue: OperationQueue) -> SharedQueue? {
    state.withLock { $0.queues[ObjectIdentifier(queue)] }
  }

  func attach(_ pool: ConcurrentPool, to queue: OperationQueue) {
    state.withLock { state in
      let shared = state.queues[ObjectIdentifier(queue)] ?? SharedQueue(queue)
      state.queues[ObjectIdentifier(queue)] = shared
      // Before the monitor, or threads that block, find the pool.
      pool.join(shared)
      shared.add(pool)
      (queue as? PoolQueue)?.attach(shared)
      state.pools.append(pool)
    }
  }

  func detach(_ pool: ConcurrentPool, from shared: SharedQueue) {
    state.withLock { state in
      state.pools.removeAll { $0 === pool }
      if shared.remove(pool) { return }
      state.queues[ObjectIdentifier(shared.queue)] = nil
      (shared.queue as? PoolQueue)?.attach(nil)
    }
  }
}
