/// The jobs of a concurrent queue, and how many threads take them, without threads.
///
/// Drainers are operations on the queue. Substitutes are threads beside it: they continue what was
/// started where the queue would hold that back, and stand in for drainers that wait.
struct PoolState {
  /// Start actions; held back while the queue is suspended.
  private var starts = FIFO<Job>()
  /// Continue actions that were started; never held back.
  private var steps = FIFO<Job>()
  private var drainers = 0
  /// Those of the drainers that the queue has not begun to run.
  private var queued = 0
  private var substitutes = 0
  /// Those of all who wait inside the library, and whose place others may take.
  private var waiting = 0

  enum Push {
    /// Those who take jobs already will come to it.
    case none
    case addDrainer
    case addSubstitute
  }

  mutating func push(start job: Job, width: Int) -> Push {
    starts.append(job)
    if drainers < width { return addDrainer() }
    return waiting > 0 ? addSubstitute(width) : .none
  }

  mutating func push(step job: Job, isSuspended: Bool, width: Int) -> Push {
    steps.append(job)
    // A suspended queue would hold a new drainer, and those who wait keep its places.
    if isSuspended { return addSubstitute(width) }
    if drainers < width { return addDrainer() }
    return waiting > 0 ? addSubstitute(width) : .none
  }

  /// The queue was suspended: what drainers were asked to continue, others have to.
  mutating func queueWasSuspended(width: Int) -> Push {
    steps.isEmpty ? .none : addSubstitute(width)
  }

  /// A thread begins to wait: its place may be taken.
  mutating func beginWait(width: Int) -> Push {
    waiting += 1
    return starts.isEmpty && steps.isEmpty ? .none : addSubstitute(width)
  }

  mutating func endWait() {
    waiting -= 1
  }

  private var running: Int { drainers - queued + substitutes - waiting }

  /// Whether steps wait for drainers that the queue has not begun to run.
  var areStepsHeld: Bool { !steps.isEmpty && queued > 0 && running <= 0 }

  private mutating func addDrainer() -> Push {
    drainers += 1
    queued += 1
    return .addDrainer
  }

  private mutating func addSubstitute(_ width: Int) -> Push {
    guard running < width else { return .none }
    substitutes += 1
    return .addSubstitute
  }

  /// The queue runs a drainer.
  mutating func drainerBegins() {
    queued -= 1
  }

  /// A drainer goes to the end of the queue.
  mutating func drainerRequeues() {
    queued += 1
  }

  enum Next {
    case run(Job)
    /// The queue is suspended, and only starts are left.
    case suspended
    /// Nothing is left for this thread: it has left.
    case leave
  }

  /// The decision to leave and the emptiness that it follows from are one: a push either comes before
  /// and is found, or comes after and finds one thread less.
  mutating func next(isSuspended: Bool, isSubstitute: Bool, width: Int) -> Next {
    if let step = steps.popFirst() { return .run(step) }
    if starts.isEmpty || (isSubstitute ? !standsIn(width) : drainers > width) {
      if isSubstitute { substitutes -= 1 } else { drainers -= 1 }
      return .leave
    }
    return isSuspended ? .suspended : .run(starts.popFirst()!)
  }

  /// Whether a substitute has the place of one who waits; the others come to the starts themselves.
  private func standsIn(_ width: Int) -> Bool {
    waiting > 0 && running <= width
  }
}
