import Dispatch
import Foundation
import Synchronization

/// The jobs of `async` blocks that may run on any thread, until a thread of the system takes them.
///
/// If threads block in the library, and the system has none for a job, helpers take it.
final class JobInbox: Sendable {
  static let ofProcess = JobInbox()

  private struct State {
    var jobs = FIFO<(job: UnownedJob, executor: OperationExecutor)>()
    /// The number of threads of the system that came for a job.
    var taken = 0
    /// The value of `taken` at the last check, if there were jobs then.
    var checked: Int?
  }

  // All threads share this lock, as they share the queue of the system that each job passes, too.
  private let state = Locked(State())
  /// The helpers that do not wait inside the library.
  private let helpers = Atomic(0)
  /// Whether the system was seen to have no thread for a job, and has sent none since.
  private let isScarce = Atomic(false)
  private static let mostHelpers = max(2, ProcessInfo.processInfo.activeProcessorCount)

  func push(_ job: UnownedJob, for executor: OperationExecutor) {
    state.withLockOfProcess { $0.jobs.append((job, executor)) }
    DispatchQueue.global().async { self.runNext() }
    if isScarce.load(ordering: .sequentiallyConsistent) { addHelper() }
  }

  private func runNext() {
    let next = state.withLockOfProcess { state in
      state.taken &+= 1
      return state.jobs.popFirst()
    }
    if isScarce.load(ordering: .relaxed) { isScarce.store(false, ordering: .relaxed) }
    if let next { next.executor.runBesideTasks(next.job) }
  }

  var isEmpty: Bool { state.withLockOfProcess { $0.jobs.isEmpty } }

  // MARK: Helpers

  /// Checks for stalled jobs; the stall monitor calls this from time to time while threads block.
  func check() {
    let isStalled = state.withLockOfProcess { state in
      let now = state.jobs.isEmpty ? nil : state.taken
      defer { state.checked = now }
      return now != nil && state.checked == now
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
    while let next = state.withLockOfProcess({ $0.jobs.popFirst() }) {
      // The job may block, in the library or elsewhere.
      if !isEmpty { addHelper() }
      next.executor.runBesideTasks(next.job)
    }
    thread.fields.pointee.isJobHelper = false
    // A thread that pushed meanwhile may have counted this helper: the monitor finds that thread's job.
    helpers.subtract(1, ordering: .sequentiallyConsistent)
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
