import Foundation
import Synchronization

/// The threads that block inside the library, and the queues whose work they may wait for.
///
/// The process has one instance, and so has each simulated world.
package final class BlockedThreads: Sendable {
  static let ofProcess = BlockedThreads()

  private let count = Atomic(0)
  /// The blocked threads that are the library's, each of which another may have to replace.
  private let lent = Atomic(0)
  /// The number of lent threads at which a wait that would block another of the library's threads is refused.
  static let mostLent = 2_048
  /// Whether a refused wait was reported, since half as many were blocked.
  private let hasReported = Atomic(false)
  /// The pools of all dispatchers, which have the queues.
  private let pools = Locked([ConcurrentPool]())

  package init() {}

  /// Returns the instance of the process, or of the calling thread's simulated world.
  static func here(on thread: ThreadState) -> BlockedThreads {
    thread.simulated?.world.blockedThreads ?? ofProcess
  }

  package var isEmpty: Bool { count.load(ordering: .sequentiallyConsistent) == 0 }

  /// Notes that the calling thread is about to block, and may wait for any work that is queued.
  ///
  /// Threads that push work need not know this: while a thread blocks, the monitor looks after queued work.
  ///
  /// - Parameter isLent: Whether the thread is the library's.
  func begin(isLent: Bool) {
    if isLent { lent.add(1, ordering: .relaxed) }
    guard count.add(1, ordering: .sequentiallyConsistent).oldValue == 0 else { return }
    if self === Self.ofProcess { StallMonitor.ofProcess.keepRunning() }
  }

  func end(isLent: Bool) {
    if isLent, lent.subtract(1, ordering: .relaxed).newValue == Self.mostLent / 2 {
      hasReported.store(false, ordering: .relaxed)
    }
    count.subtract(1, ordering: .sequentiallyConsistent)
  }

  /// Whether no more of the library's threads may block.
  var isFull: Bool { lent.load(ordering: .relaxed) >= Self.mostLent }

  /// Whether a refused wait is to be reported: the first one is, until half of the threads no longer block.
  func takeReport() -> Bool { !hasReported.exchange(true, ordering: .relaxed) }

  /// Checks whether the queues of all dispatchers begin their drainers.
  ///
  /// - Returns: Whether the queues have to be checked again.
  package func checkQueues() -> Bool {
    let threadsBlock = !isEmpty
    var isNecessary = threadsBlock
    for pool in pools.withLock({ $0 }) where pool.check(threadsBlock: threadsBlock) {
      isNecessary = true
    }
    return isNecessary
  }

  /// Whether some queue has a drainer to begin.
  var hasQueuedWork: Bool { pools.withLock { $0.contains(where: \.isQueued) } }

  // MARK: Queues

  /// Returns the shared record of a queue, if some dispatcher uses the queue.
  func find(_ queue: OperationQueue) -> SharedQueue? {
    pools.withLock { pools in pools.first { $0.queue === queue }?.shared }
  }

  func attach(_ pool: ConcurrentPool, to queue: OperationQueue) {
    pools.withLock { pools in
      let shared = pools.first { $0.queue === queue }?.shared ?? SharedQueue(queue)
      // Joined before the monitor, or blocking threads, find the pool.
      pool.join(shared)
      shared.add(pool)
      (queue as? PoolQueue)?.attach(shared)
      pools.append(pool)
    }
  }

  func detach(_ pool: ConcurrentPool, from shared: SharedQueue) {
    pools.withLock { pools in
      pools.removeAll { $0 === pool }
      if !shared.remove(pool) { (shared.queue as? PoolQueue)?.attach(nil) }
    }
  }
}
