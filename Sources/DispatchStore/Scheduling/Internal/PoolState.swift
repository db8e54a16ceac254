/// Who takes the jobs of a concurrent queue, and what is to be continued, without threads.
///
/// Drainers are operations on the queue. Substitutes are threads beside it: they continue what was
/// started where the queue would hold that back, and stand in for drainers that wait. Jobs that start
/// actions are elsewhere (`StartInbox`), and most of those who push and take them do not come by here: as
/// long as there are as many drainers as the queue is wide, and it is not open to others.
struct PoolState {
  /// Continue actions that were started; never held back by suspension.
  private var steps = FIFO<Job>()
  private(set) var drainers = 0
  /// Those of the drainers that the queue has not begun to run.
  private var queued = 0
  private var substitutes = 0
  /// Those of all who wait inside the library, and whose place others may take.
  private var waiting = 0
  /// A drainer that has nothing to do looks out for work.
  private var isLingering = false

  enum Push {
    /// Those who take jobs already will come to it.
    case none
    case addDrainer
    case addSubstitute
    /// The drainer that looks out has to be told.
    case tellLingerer
  }

  /// Whether more than the drainers may take jobs, or one of them has to be told.
  var isOpenToOthers: Bool { waiting > 0 || isLingering }

  var hasSteps: Bool { !steps.isEmpty }

  /// A job that starts an action was pushed.
  mutating func startPushed(width: Int) -> Push {
    if isLingering { return tellLingerer() }
    if drainers < width { return addDrainer() }
    return waiting > 0 ? addSubstitute(width) : .none
  }

  mutating func push(step job: Job, isSuspended: Bool, width: Int) -> Push {
    steps.append(job)
    if isLingering { return tellLingerer() }
    // A suspended queue would hold a new drainer, and those who wait keep its places.
    return isSuspended ? addSubstitute(width) : startPushed(width: width)
  }

  mutating func popStep() -> Job? { steps.popFirst() }

  /// The queue was suspended: what drainers were asked to continue, others have to.
  mutating func queueWasSuspended(width: Int) -> Push {
    addSubstituteForSteps(width)
  }

  /// A thread begins to wait: its place may be taken, where there is something to do.
  mutating func beginWait(width: Int) -> Push {
    waiting += 1
    return addSubstituteForSteps(width)
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

  private mutating func addSubstituteForSteps(_ width: Int) -> Push {
    steps.isEmpty ? .none : addSubstitute(width)
  }

  private mutating func tellLingerer() -> Push {
    isLingering = false
    return .tellLingerer
  }

  /// The queue runs a drainer.
  mutating func drainerBegins() {
    queued -= 1
  }

  /// A drainer goes to the end of the queue.
  mutating func drainerRequeues() {
    queued += 1
  }

  /// A drainer that found nothing looks out for work.
  mutating func beginLingering(width: Int) -> Bool {
    guard steps.isEmpty, drainers <= width, waiting == 0, !isLingering else { return false }
    isLingering = true
    return true
  }

  /// It looks out no longer; whether it was told meanwhile.
  mutating func endLingering() -> Bool {
    defer { isLingering = false }
    return !isLingering
  }

  /// A thread that found nothing leaves; false where there are steps for it.
  ///
  /// Others may have pushed starts meanwhile: it has to look once more, after all can see that it left.
  mutating func leave(isSubstitute: Bool) -> Bool {
    guard steps.isEmpty else { return false }
    if isSubstitute { substitutes -= 1 } else { drainers -= 1 }
    return true
  }

  /// A drainer that has left found something after all; false where others have its place.
  mutating func reenter(width: Int) -> Bool {
    guard drainers < width else { return false }
    drainers += 1
    return true
  }

  /// Whether a substitute has the place of one who waits; the others come to the starts themselves.
  func standsIn(_ width: Int) -> Bool {
    waiting > 0 && running <= width
  }
}
