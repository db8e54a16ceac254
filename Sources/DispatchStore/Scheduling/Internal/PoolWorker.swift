import Synchronization

/// A thread that takes jobs of the concurrent pool: a drainer, which is an operation on the queue, or a
/// substitute, which is a thread beside it.
struct PoolWorker {
  let pool: ConcurrentPool
  let isSubstitute: Bool
  private let thread = ThreadState.current
  /// After so many steps a drainer goes to the end of the queue, behind operations of others.
  private static let batch = 256

  init(of pool: ConcurrentPool, isSubstitute: Bool) {
    self.pool = pool
    self.isSubstitute = isSubstitute
  }

  /// Runs jobs until there are none for it, or for a batch.
  func run() {
    let outer = thread.pool
    thread.pool = pool
    thread.hasResumedOthers = false
    defer { thread.pool = outer }
    var left = Self.batch
    while left > 0 {
      switch next() {
      case .run(let job): left -= job.run(in: pool, on: thread)
      case .suspended: return requeue(isSuspended: true)
      case .nothing: if isSubstitute ? substituteLeaves() : drainerLeaves() { return }
      }
    }
    requeue(isSuspended: false)
  }

  private enum Next {
    case run(Job)
    /// The queue is suspended, and only starts are left.
    case suspended
    case nothing
  }

  private func next() -> Next {
    if pool.hasSteps.load(ordering: .acquiring),
      let step = pool.change(.popStep, { state, _ in state.popStep() })
    {
      return .run(step)
    }
    // Where the queue has become narrower, some workers have to leave.
    let mayStart =
      isSubstitute
      ? pool.change(.popStart) { $0.substitutesMayStart(width: $1) }
      : pool.drainerCount.load(ordering: .relaxed) <= pool.width
    guard mayStart else { return .nothing }
    yieldPoint(.popStart, on: thread)
    if let job = pool.starts.pop(on: thread, for: pool) { return .run(job) }
    return pool.holdsStartsBack && !pool.starts.isEmpty ? .suspended : .nothing
  }

  /// A thread that pushes while others wait looks at the state, and may count this worker, which has
  /// found no start and not left: so it checks once more after it has left.
  private func substituteLeaves() -> Bool {
    guard pool.change(.leavePool, { state, _ in state.leave(isSubstitute: true) }) else {
      return false
    }
    yieldPoint(.recheck)
    if !pool.starts.isEmpty, !isPlanted(.lostSubstitute) {
      pool.reinforce(pool.change(.recheck) { $0.startPushed(width: $1) })
    }
    return true
  }

  private func drainerLeaves() -> Bool {
    if pool.spinForWork(on: thread) { return false }
    let (hasLeft, released) = pool.leave()
    guard hasLeft else { return false }
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    yieldPoint(.recheck, on: thread)
    guard !pool.starts.isEmpty, !isPlanted(.lostStart) else { return true }
    return !pool.reenter(for: released)
  }

  private func requeue(isSuspended: Bool) {
    if isSubstitute {
      // The queue doesn't notify a thread beside it that it is no longer suspended: this one polls.
      pool.addSubstitute(after: isSuspended ? ConcurrentPool.pollingInterval : .zero)
    } else {
      pool.requeueDrainer()
    }
  }
}
