import Dispatch
import Foundation
import Synchronization

/// The jobs of `async` blocks that may run on any thread, until a thread of the system takes them.
///
/// If threads block in the library, and the system has none for a job, helpers take it. Threads push to several
/// shards, so that no lock is shared by all.
final class JobInbox: Sendable {
  static let ofProcess = JobInbox()

  private struct PendingJob {
    let job: UnownedJob
    let executor: OperationExecutor
  }

  private struct Shard {
    var jobs = FIFO<PendingJob>()
    /// The number of threads of the system that came for a job.
    var taken = 0
  }

  private let shards = (0..<16).map { _ in Locked(Shard()) }
  /// The helpers that do not wait inside the library.
  private let helpers = Atomic(0)
  /// The value of `taken` at the last check, if there were jobs then.
  private let checked = Locked<Int?>(nil)
  /// Whether the system was seen to have no thread for a job, and has sent none since.
  private let isScarce = Atomic(false)
  private static let mostHelpers = max(2, ProcessInfo.processInfo.activeProcessorCount)

  func push(_ job: UnownedJob, for executor: OperationExecutor, on thread: ThreadState) {
    thread.fields.pointee.turn &+= 1
    let shard = shards[Int(truncatingIfNeeded: thread.fields.pointee.turn) % shards.count]
    shard.withLockOfProcess { $0.jobs.append(PendingJob(job: job, executor: executor)) }
    DispatchQueue.global().async { self.runNext(in: shard) }
    if isScarce.load(ordering: .sequentiallyConsistent) { addHelper() }
  }

  private func runNext(in shard: Locked<Shard>) {
    let next = shard.withLockOfProcess { shard in
      shard.taken &+= 1
      return shard.jobs.popFirst()
    }
    if isScarce.load(ordering: .relaxed) { isScarce.store(false, ordering: .relaxed) }
    if let next { next.executor.runBesideTasks(next.job) }
  }

  var isEmpty: Bool { shards.allSatisfy { $0.withLockOfProcess { $0.jobs.isEmpty } } }
  private var taken: Int { shards.reduce(0) { $0 &+ $1.withLockOfProcess { $0.taken } } }

  // MARK: Helpers

  /// Checks for stalled jobs; the stall monitor calls this from time to time while threads block.
  func check() {
    let now = isEmpty ? nil : taken
    let isStalled = checked.withLockOfProcess { checked in
      defer { checked = now }
      return now != nil && checked == now
    }
    guard isStalled else { return }
    isScarce.store(true, ordering: .sequentiallyConsistent)
    addHelper()
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
    thread.fields.pointee.isJobHelper = true
    while let next = popAny() {
      // The job may block, in the library or elsewhere.
      if !isEmpty { addHelper() }
      next.executor.runBesideTasks(next.job)
    }
    thread.fields.pointee.isJobHelper = false
    // A thread that pushed meanwhile may have counted this helper: the monitor finds that thread's job.
    helpers.subtract(1, ordering: .sequentiallyConsistent)
  }

  private func popAny() -> PendingJob? {
    for shard in shards {
      if let next = shard.withLockOfProcess({ $0.jobs.popFirst() }) { return next }
    }
    return nil
  }

  /// Notes that a helper begins to wait inside the library; another one may take the jobs.
  func helperWaits() {
    helpers.subtract(1, ordering: .sequentiallyConsistent)
    if !isEmpty { addHelper() }
  }

  func helperHasWaited() {
    helpers.add(1, ordering: .sequentiallyConsistent)
  }
}
