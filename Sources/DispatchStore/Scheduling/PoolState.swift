/// The jobs of a concurrent queue, and how many threads take them, without threads.
struct PoolState {
  /// Start actions; held back while the queue is suspended.
  private var starts = FIFO<Job>()
  /// Continue actions that were started; never held back.
  private var steps = FIFO<Job>()
  /// Operations on the queue that take jobs, those that wait inside the library included.
  private var drainers = 0
  /// Threads beside the queue that stand in for waiting drainers.
  private var substitutes = 0
  /// Drainers that wait inside the library, and whose place others may take.
  private var waiting = 0

  enum Push {
    /// Those who drain already will come to it.
    case none
    case addDrainer
    case addSubstitute
  }

  mutating func push(_ job: Job, isStart: Bool, isSuspended: Bool, width: Int) -> Push {
    if isStart {
      starts.append(job)
    } else {
      steps.append(job)
      // Drainers may be held by the queue; what was started goes on all the same.
      if isSuspended {
        substitutes += 1
        return .addSubstitute
      }
    }
    return reinforce(width: width)
  }

  /// A drainer begins to wait: its place may be taken.
  mutating func beginWait(width: Int) -> Push {
    waiting += 1
    return starts.isEmpty && steps.isEmpty ? .none : reinforce(width: width)
  }

  mutating func endWait() {
    waiting -= 1
  }

  private mutating func reinforce(width: Int) -> Push {
    guard drainers + substitutes - waiting < width else { return .none }
    if drainers < width {
      drainers += 1
      return .addDrainer
    }
    substitutes += 1
    return .addSubstitute
  }

  enum Next {
    case run(Job)
    /// The queue is suspended, and only starts are left.
    case suspended
    /// Nothing is left, or others suffice: the drainer has left.
    case leave
  }

  /// The decision to leave and the emptiness that it follows from are one: a push either comes before
  /// and is found, or comes after and finds one drainer less.
  mutating func next(isSuspended: Bool, isSubstitute: Bool, width: Int) -> Next {
    if let step = steps.popFirst() { return .run(step) }
    let isSurplus = drainers + substitutes - waiting > width
    if isSurplus || starts.isEmpty {
      leave(isSubstitute)
      return .leave
    }
    if isSuspended {
      // A substitute is not held by the queue, so it can't wait there for the queue to go on.
      if isSubstitute {
        substitutes -= 1
        drainers += 1
      }
      return .suspended
    }
    return .run(starts.popFirst()!)
  }

  private mutating func leave(_ isSubstitute: Bool) {
    if isSubstitute { substitutes -= 1 } else { drainers -= 1 }
  }
}
