import Synchronization

/// A thread that takes jobs of the concurrent pool.
final class PoolWorker {
  enum Role {
    /// An operation on the queue.
    case drainer(Drainer)
    /// A thread beside the queue; a drainer becomes one once it has waited.
    case substitute
    /// A thread beside the queue, without a place: runs ends until it has waited, since another one may come then.
    case ender(takesEnds: Bool)
  }

  let pool: ConcurrentPool
  private var role: Role
  private let thread = ThreadState.current
  /// The number of steps after which a drainer goes to the end of the queue, behind operations of others.
  private static let batch = 256

  init(of pool: ConcurrentPool, _ role: Role) {
    self.pool = pool
    self.role = role
  }

  /// Whether the worker's thread runs beside the queue.
  var isSubstitute: Bool {
    if case .drainer = role { false } else { true }
  }
  var queue: SharedQueue { pool.shared }

  /// Runs jobs until there are none for this worker, or the batch is used up.
  func run() {
    let outer = thread.worker
    thread.worker = self
    thread.fields.pointee.hasResumedOthers = false
    defer { thread.worker = outer }
    var left = Self.batch
    while left > 0 {
      switch next() {
      case .run(let job): left -= job.run(in: pool, on: thread)
      case .suspended: return requeue()
      case .nothing:
        if leave() { return queue.placeIsFree(after: pool) }
      }
    }
    requeue()
  }

  /// Runs ends until there are none.
  func runEnds() {
    let outer = thread.worker
    thread.worker = self
    defer { thread.worker = outer }
    // Kept alive, since the ender is not among the workers of which the last one releases it.
    let dispatcher = pool.dispatcher
    while case .ender(takesEnds: true) = role, let end = pool.popEnd() {
      _ = end.run(in: pool, on: thread)
    }
    withExtendedLifetime(dispatcher) {}
  }

  private enum Next {
    case run(Job)
    /// The queue is suspended, and only starts are left.
    case suspended
    case nothing
  }

  private func next() -> Next {
    if pool.hasWork.load(ordering: .acquiring), let step = pool.popStep() { return .run(step) }
    // If the queue has become narrower, or substitutes have its places, some workers have to leave.
    let mayStart =
      isSubstitute
      ? pool.change(.popStart) { $0.substitutesMayStart($1) }
      : pool.mayStart
    guard mayStart else { return .nothing }
    yieldPoint(.popStart, on: thread)
    if let job = pool.starts.pop(on: thread, for: pool) {
      // Another worker runs beside this one, which may block.
      if isSubstitute { pool.seeToWork() }
      return .run(job)
    }
    // Drainers are queued for the starts that a substitute leaves.
    return !isSubstitute && pool.holdsStartsBack && !pool.starts.isEmpty ? .suspended : .nothing
  }

  /// Removes the worker, which has found no job; returns whether it has left.
  ///
  /// A thread that pushes a start may still count this worker. So the worker checks once more after it has left, and
  /// asks for another one.
  private func leave() -> Bool {
    if !isSubstitute, pool.spinForWork(on: thread) { return false }
    let (hasLeft, released) = pool.leave(isSubstitute: isSubstitute)
    guard hasLeft else { return false }
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    yieldPoint(.recheck, on: thread)
    if !pool.starts.isEmpty, !isPlanted(.lostStart) { pool.submitRest(for: released) }
    return true
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

  /// Gives up the worker's place, since its thread begins to wait inside the library.
  func beginWait() {
    switch role {
    case .drainer(let operation):
      role = .substitute
      pool.change(.beginWait) { state, _ in state.drainerWaits() }
      operation.end()
      thread.simulated?.leaveQueue()
    case .substitute:
      pool.change(.beginWait) { state, _ in state.substituteWaits() }
    case .ender(let takesEnds):
      role = .ender(takesEnds: false)
      if takesEnds { pool.change(.beginWait) { state, _ in state.enderWaits() } }
    }
    pool.seeToWork()
    queue.placeIsFree(after: pool)
  }

  /// Ends the wait: the worker runs beside the queue, to the end of its job.
  func endWait() {
    if case .ender = role { return }
    pool.change(.endWait) { state, _ in state.endWait() }
  }
}
