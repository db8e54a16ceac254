import Synchronization

/// A thread that takes jobs of the concurrent pool: a drainer, which is an operation on the queue, or a
/// substitute, which is a thread beside it.
final class PoolWorker {
  let pool: ConcurrentPool
  /// Of a drainer; nil once that has waited, and so is a substitute.
  private var operation: Drainer?
  private let thread = ThreadState.current
  /// After so many steps a drainer goes to the end of the queue, behind operations of others.
  private static let batch = 256

  init(of pool: ConcurrentPool, in operation: Drainer? = nil) {
    self.pool = pool
    self.operation = operation
  }

  /// Whether its thread runs beside the queue.
  var isSubstitute: Bool { operation == nil }
  var queue: SharedQueue { pool.shared }

  /// Runs jobs until there are none for it, or for a batch.
  func run() {
    let outer = thread.worker
    thread.worker = self
    thread.hasResumedOthers = false
    defer { thread.worker = outer }
    var left = Self.batch
    while left > 0 {
      switch next() {
      case .run(let job): left -= job.run(in: pool, on: thread)
      case .suspended: return requeue()
      case .nothing:
        guard isSubstitute ? substituteLeaves() : drainerLeaves() else { continue }
        return queue.placeIsFree(after: pool)
      }
    }
    requeue()
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
    // Where the queue has become narrower, or substitutes have its places, some workers have to leave.
    let mayStart =
      isSubstitute
      ? pool.change(.popStart) { $0.substitutesMayStart($1) }
      : pool.mayStart
    guard mayStart else { return .nothing }
    yieldPoint(.popStart, on: thread)
    if let job = pool.starts.pop(on: thread, for: pool) {
      // Beside this one, which may block.
      if isSubstitute { pool.seeToWork() }
      return .run(job)
    }
    // Drainers are queued for what a substitute leaves.
    return !isSubstitute && pool.holdsStartsBack && !pool.starts.isEmpty ? .suspended : .nothing
  }

  /// A thread that pushes while others wait looks at the state, and may count this worker, which has
  /// found no start and not left: so it checks once more after it has left.
  private func substituteLeaves() -> Bool {
    let (hasLeft, released) = pool.leave(isSubstitute: true)
    guard hasLeft else { return false }
    yieldPoint(.recheck)
    if !pool.starts.isEmpty { pool.submitRest(for: released) }
    return true
  }

  private func drainerLeaves() -> Bool {
    if pool.spinForWork(on: thread) { return false }
    let (hasLeft, released) = pool.leave(isSubstitute: false)
    guard hasLeft else { return false }
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    yieldPoint(.recheck, on: thread)
    guard !pool.starts.isEmpty, !isPlanted(.lostStart) else { return true }
    return !pool.reenter(for: released)
  }

  private func requeue() {
    if isSubstitute {
      pool.addSubstitute()
    } else {
      pool.requeueDrainer()
      queue.placeIsFree(after: pool)
    }
  }

  // MARK: Waiting

  /// The thread begins to wait inside the library, and gives up its place.
  func beginWait() {
    if let operation = operation.take() {
      pool.change(.beginWait) { state, _ in state.drainerWaits() }
      operation.end()
      thread.simulated?.leaveQueue()
    } else {
      pool.change(.beginWait) { state, _ in state.substituteWaits() }
    }
    pool.seeToWork()
    queue.placeIsFree(after: pool)
  }

  /// It runs again, beside the queue, to the end of its job.
  func endWait() {
    pool.change(.endWait) { state, _ in state.endWait() }
  }
}
