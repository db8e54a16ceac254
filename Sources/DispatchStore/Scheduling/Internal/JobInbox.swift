import Dispatch
import Foundation
import Synchronization

/// The jobs of `async` blocks that may run on any thread, until one of the system takes them.
///
/// Where threads block in the library, and the system has none for a job, helpers take it. Threads push
/// to several shards, so that no lock is shared by all.
final class JobInbox: Sendable {
  static let ofProcess = JobInbox()

  private struct Shard {
    var jobs = FIFO<(job: UnownedJob, executor: OperationExecutor)>()
    /// How many threads of the system took.
    var taken = 0
  }

  private let shards = (0..<16).map { _ in Locked(Shard()) }
  /// The helpers that do not wait inside the library.
  private let helpers = Atomic(0)
  private let isWatched = Atomic(false)
  /// Whether the system was seen to have no thread for a job.
  private let isScarce = Atomic(false)
  private static let mostHelpers = max(2, ProcessInfo.processInfo.activeProcessorCount)

  func push(_ job: UnownedJob, for executor: OperationExecutor, on thread: ThreadState) {
    thread.turn &+= 1
    let shard = shards[Int(truncatingIfNeeded: thread.turn) % shards.count]
    shard.withLockOfProcess { $0.jobs.append((job, executor)) }
    DispatchQueue.global().async { self.runNext(in: shard) }
    // Either a thread that begins to block finds the job, or this one sees that it blocks.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if !BlockedThreads.ofProcess.isEmpty { addWatch() }
  }

  private func runNext(in shard: Locked<Shard>) {
    let next = shard.withLockOfProcess { shard in
      shard.taken &+= 1
      return shard.jobs.popFirst()
    }
    if isScarce.load(ordering: .relaxed) { isScarce.store(false, ordering: .relaxed) }
    guard let (job, executor) = next else { return }
    executor.run(job)
  }

  private var isEmpty: Bool { shards.allSatisfy { $0.withLockOfProcess(\.jobs.isEmpty) } }
  private var taken: Int { shards.reduce(0) { $0 &+ $1.withLockOfProcess(\.taken) } }

  // MARK: Helpers

  /// A thread blocks: sees to it that jobs get a thread.
  func reinforce() {
    if !isEmpty { addWatch() }
  }

  private func addWatch() {
    if isScarce.load(ordering: .relaxed) {
      addHelper()
    } else if !isWatched.load(ordering: .sequentiallyConsistent) {
      watch()
    }
  }

  private func watch() {
    guard !isWatched.exchange(true, ordering: .sequentiallyConsistent) else { return }
    let before = taken
    HelperThreads.run(after: ConcurrentPool.patience) {
      self.isWatched.store(false, ordering: .sequentiallyConsistent)
      if self.taken == before, !self.isEmpty { self.isScarce.store(true, ordering: .relaxed) }
      if !BlockedThreads.ofProcess.isEmpty { self.reinforce() }
    }
  }

  private func addHelper() {
    if helpers.add(1, ordering: .sequentiallyConsistent).newValue > Self.mostHelpers {
      helpers.subtract(1, ordering: .sequentiallyConsistent)
    } else {
      HelperThreads.run { self.help() }
    }
  }

  private func help() {
    let thread = ThreadState.current
    thread.isJobHelper = true
    while let (job, executor) = popAny() {
      // The job may block, in the library or elsewhere.
      if !isEmpty { addHelper() }
      executor.run(job)
    }
    thread.isJobHelper = false
    helpers.subtract(1, ordering: .sequentiallyConsistent)
    // A thread that pushed meanwhile may have counted this one.
    if !BlockedThreads.ofProcess.isEmpty { reinforce() }
  }

  private func popAny() -> (job: UnownedJob, executor: OperationExecutor)? {
    for shard in shards {
      if let next = shard.withLockOfProcess({ $0.jobs.popFirst() }) { return next }
    }
    return nil
  }

  /// A helper begins to wait inside the library; another one may take the jobs.
  func helperWaits() {
    helpers.subtract(1, ordering: .sequentiallyConsistent)
  }

  func helperHasWaited() {
    helpers.add(1, ordering: .sequentiallyConsistent)
  }
}
