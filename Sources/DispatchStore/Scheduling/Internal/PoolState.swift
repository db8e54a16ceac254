/// Which workers a concurrent pool has, and what they are to continue, without threads.
///
/// Drainers are operations on the queue. Substitutes are threads beside it: they continue what was
/// started where the queue would hold that back, and take the places of drainers that wait. Starts are
/// elsewhere (`StartInbox`), and most pushes and takes of them don't look at this state: as long as there
/// are as many drainers as the queue is wide, and none waits or spins.
struct PoolState {
  /// Continue actions that were started; suspension never holds them back.
  private var steps = FIFO<Job>()
  private(set) var drainers = 0
  /// Those of the drainers that the queue has not begun to run.
  private var queued = 0
  private var substitutes = 0
  /// Those of all workers that wait inside the library, and whose place others may take.
  private var waiting = 0
  /// A drainer that has found nothing spins for work.
  private var isSpinning = false

  /// What the caller does outside the lock, so that a worker comes to a job.
  enum Reinforcement {
    /// Nothing: the workers that are there come to it.
    case none
    case addDrainer
    case addSubstitute
    /// Notify the drainer that spins.
    case notifySpinning
  }

  /// Whether a push must look at the state although there are as many drainers as the queue is wide.
  var pushNeedsState: Bool { waiting > 0 || isSpinning }

  var hasSteps: Bool { !steps.isEmpty }

  /// A job that starts an action was pushed.
  mutating func startPushed(width: Int) -> Reinforcement {
    if isSpinning { return notifySpinning() }
    if drainers < width { return addDrainer() }
    return waiting > 0 ? addSubstitute(width) : .none
  }

  mutating func push(step job: Job, isSuspended: Bool, width: Int) -> Reinforcement {
    steps.append(job)
    if isSpinning { return notifySpinning() }
    // A suspended queue would hold a new drainer back, and drainers that wait keep its places.
    return isSuspended ? addSubstitute(width) : startPushed(width: width)
  }

  mutating func popStep() -> Job? { steps.popFirst() }

  /// The queue was suspended: substitutes have to take the steps that were left to drainers.
  mutating func queueWasSuspended(width: Int) -> Reinforcement {
    addSubstituteForSteps(width)
  }

  /// A worker begins to wait: a substitute may take its place, where there is a step.
  mutating func beginWait(width: Int) -> Reinforcement {
    waiting += 1
    return addSubstituteForSteps(width)
  }

  mutating func endWait() {
    waiting -= 1
  }

  private var running: Int { drainers - queued + substitutes - waiting }

  /// Whether steps wait for drainers that the queue has not begun to run.
  var areStepsHeld: Bool { !steps.isEmpty && queued > 0 && running <= 0 }

  private mutating func addDrainer() -> Reinforcement {
    drainers += 1
    queued += 1
    return .addDrainer
  }

  private mutating func addSubstitute(_ width: Int) -> Reinforcement {
    guard running < width else { return .none }
    substitutes += 1
    return .addSubstitute
  }

  private mutating func addSubstituteForSteps(_ width: Int) -> Reinforcement {
    steps.isEmpty ? .none : addSubstitute(width)
  }

  private mutating func notifySpinning() -> Reinforcement {
    isSpinning = false
    return .notifySpinning
  }

  /// The queue runs a drainer.
  mutating func drainerBegins() {
    queued -= 1
  }

  /// A drainer goes to the end of the queue.
  mutating func drainerRequeues() {
    queued += 1
  }

  /// A drainer that found nothing spins for work; false where there is some, or another one spins.
  mutating func beginSpinning(width: Int) -> Bool {
    guard steps.isEmpty, drainers <= width, waiting == 0, !isSpinning else { return false }
    isSpinning = true
    return true
  }

  /// Whether a push has notified it meanwhile.
  mutating func endSpinning() -> Bool {
    defer { isSpinning = false }
    return !isSpinning
  }

  /// A worker that found nothing leaves; false where there are steps for it.
  ///
  /// Other threads may have pushed starts meanwhile: it has to check once more, after they can see that it
  /// has left.
  mutating func leave(isSubstitute: Bool) -> Bool {
    guard steps.isEmpty else { return false }
    if isSubstitute { substitutes -= 1 } else { drainers -= 1 }
    return true
  }

  /// A drainer that has left comes back; false where others have its place.
  mutating func reenter(width: Int) -> Bool {
    guard drainers < width else { return false }
    drainers += 1
    return true
  }

  /// Whether substitutes have places of workers that wait; else drainers take all starts.
  func substitutesMayStart(width: Int) -> Bool {
    waiting > 0 && running <= width
  }
}
