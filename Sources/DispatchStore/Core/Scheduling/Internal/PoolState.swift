/// Which workers a concurrent pool has, and what they are to continue, without threads.
///
/// Drainers are operations on the queue. Substitutes are threads beside it: they continue what was
/// started where the queue does not come to that, and start actions where it has no thread while threads
/// block. Starts are elsewhere (`StartInbox`), and most pushes and takes of them don't look at this state: as
/// long as there are as many drainers as the queue is wide, none spins, and no thread blocks.
struct PoolState {
  /// Continue actions that were started; suspension never holds them back.
  private var steps = FIFO<Job>()
  private(set) var drainers = 0
  /// Those of the drainers that the queue has not begun to run.
  private var queued = 0
  private var substitutes = 0
  /// The substitutes that wait inside the library; a drainer that waits becomes one.
  private var waiting = 0
  /// A drainer that has found nothing spins for work.
  private var isSpinning = false
  /// How many drainers the queue has begun to run.
  private var beginnings = 0
  /// The same at the last check, where work and drainers were queued then.
  private var checked: Int?
  /// At how many checks in a row the queue had begun none since.
  private var stalls = 0
  /// So many show that there is no thread for a drainer, whoever waits.
  private static let manyStalls = 1_000
  /// Whether the queue was seen to have no thread for a drainer, and has begun none since.
  private(set) var isScarce = false

  /// What the pool may use.
  struct Capacity {
    /// How many drainers it may have.
    var drainers: Int
    /// How many of them may run.
    var width: Int
    /// How many of its workers may run, beside those of other pools.
    var stepPlaces: Int
    /// The same beside the user's operations, too, as far as those are known.
    var places: Int
    /// Whether substitutes may start actions, since the queue has no thread for its drainers.
    var maySubstitute: Bool
  }

  /// What the caller does outside the lock, so that a worker comes to a job; nothing where the workers
  /// that are there come to it.
  struct Reinforcement: OptionSet {
    let rawValue: Int
    static let drainer = Reinforcement(rawValue: 1)
    static let substitute = Reinforcement(rawValue: 2)
    /// Notify the drainer that spins.
    static let notifySpinning = Reinforcement(rawValue: 4)
    /// Check from time to time whether the queue begins the drainer.
    static let watch = Reinforcement(rawValue: 8)
  }

  /// Whether a push must look at the state although there are as many drainers as there may be.
  var pushNeedsState: Bool { isSpinning || isScarce }

  var hasSteps: Bool { !steps.isEmpty }

  /// Whether it has no worker at all.
  var isIdle: Bool { drainers + substitutes == 0 }

  /// The drainers that the queue has begun to run.
  var begun: Int { drainers - queued }

  /// The workers that have a place, and do not wait.
  var running: Int { begun + substitutes - waiting }

  /// A job that starts an action was pushed, or is left.
  mutating func startPushed(_ capacity: Capacity) -> Reinforcement {
    if isSpinning { return notifySpinning() }
    var reinforcement = Reinforcement()
    if drainers < capacity.drainers {
      drainers += 1
      queued += 1
      reinforcement = .drainer
    }
    if capacity.maySubstitute, queued > 0 {
      reinforcement.formUnion(addSubstitute(within: capacity.places))
    }
    return reinforcement
  }

  mutating func push(step job: Job, isSuspended: Bool, _ capacity: Capacity) -> Reinforcement {
    steps.append(job)
    if isSpinning { return notifySpinning() }
    // A suspended queue would hold a new drainer back.
    if isSuspended { return addSubstitute(within: capacity.stepPlaces) }
    let reinforcement = startPushed(capacity)
    // The queue may be suspended, if it is a user's, or run a user's operation in the drainer's place.
    return queued > 0 ? reinforcement.union(.watch) : reinforcement
  }

  mutating func popStep() -> Job? { steps.popFirst() }

  /// The queue was suspended: substitutes have to take the steps that were left to drainers.
  mutating func queueWasSuspended(_ capacity: Capacity) -> Reinforcement {
    steps.isEmpty ? [] : addSubstitute(within: capacity.stepPlaces)
  }

  /// A worker has left or waits: what is left needs others.
  mutating func workIsLeft(
    hasStarts: Bool, isSuspended: Bool, _ capacity: Capacity
  ) -> Reinforcement {
    guard hasStarts || hasSteps else { return [] }
    guard isSuspended else { return startPushed(capacity) }
    var reinforcement = queueWasSuspended(capacity)
    // The queue begins it once it is resumed.
    if hasStarts, drainers < capacity.drainers, !isPlanted(.lostWhileSuspended) {
      drainers += 1
      queued += 1
      reinforcement.insert(.drainer)
    }
    return reinforcement
  }

  /// A drainer begins to wait: its operation ends, so that the queue runs what is next.
  mutating func drainerWaits() {
    drainers -= 1
    substitutes += 1
    waiting += 1
  }

  mutating func substituteWaits() {
    waiting += 1
  }

  mutating func endWait() {
    waiting -= 1
  }

  /// Checks whether the queue has begun a drainer since the last check.
  ///
  /// - Parameters:
  ///   - startsWait: Whether there are starts, and threads block inside the library.
  ///   - isAwaited: Whether one of their waits is known to be for work on the queue.
  mutating func check(
    startsWait: Bool, isAwaited: Bool, _ capacity: Capacity
  ) -> Reinforcement {
    guard queued > 0, hasSteps || startsWait else {
      checked = nil
      return []
    }
    guard checked == beginnings else {
      checked = beginnings
      stalls = 0
      return []
    }
    stalls += 1
    // Where all places are taken, there is nothing to begin.
    if startsWait, running < capacity.places, isAwaited || stalls >= Self.manyStalls {
      isScarce = true
    }
    if hasSteps { return addSubstitute(within: capacity.stepPlaces) }
    return isScarce ? addSubstitute(within: capacity.places) : []
  }

  // MARK: Workers

  private mutating func addSubstitute(within places: Int) -> Reinforcement {
    guard running < places else { return [] }
    substitutes += 1
    return .substitute
  }

  private mutating func notifySpinning() -> Reinforcement {
    isSpinning = false
    return .notifySpinning
  }

  /// The queue runs a drainer.
  mutating func drainerBegins() {
    queued -= 1
    beginnings += 1
    isScarce = false
  }

  /// A drainer goes to the end of the queue.
  mutating func drainerRequeues(isSuspended: Bool, _ capacity: Capacity) -> Reinforcement {
    queued += 1
    if !hasSteps { return [] }
    return isSuspended ? addSubstitute(within: capacity.stepPlaces) : .watch
  }

  /// A drainer that found nothing spins for work; false where there is some, or another one spins.
  mutating func beginSpinning(_ capacity: Capacity) -> Bool {
    guard steps.isEmpty, drainers <= capacity.width, waiting == 0, !isSpinning else { return false }
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
  mutating func reenter(_ capacity: Capacity) -> Bool {
    guard running < capacity.width, drainers < capacity.drainers else { return false }
    drainers += 1
    return true
  }

  /// Whether substitutes may start actions; else drainers take all starts.
  func substitutesMayStart(_ capacity: Capacity) -> Bool {
    capacity.maySubstitute && running <= capacity.places
  }
}
