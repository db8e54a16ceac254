/// The workers of a concurrent pool, and the decisions about their jobs; a pure value, without threads.
///
/// Drainers are operations on the queue. Substitutes are threads beside it. A substitute continues started work that
/// the queue does not come to. A substitute also starts actions if the queue has no thread while threads block. One
/// worker more, the ender, runs ends while actions have all places.
///
/// Starts are elsewhere (`StartInbox`). Most pushes and takes of starts don't look at this state. They need not while
/// there are as many drainers as the queue is wide, none spins, and no thread blocks.
struct PoolState {
  /// Jobs that continue started actions; suspension never holds them back.
  private var steps = FIFO<Job>()
  /// Jobs that run completions and callbacks, and no action, so that they need no place.
  private var ends = FIFO<Job>()
  /// Whether the last job was taken as an end, if there was one: neither ends nor steps starve the others.
  private var wasEndsTurn = false
  /// Whether a worker without a place runs ends, since actions may block all places.
  private var hasEnder = false
  private(set) var drainers = 0
  /// The drainers that the queue has not begun to run.
  private var queued = 0
  private var substitutes = 0
  /// The substitutes that wait inside the library; a drainer that waits becomes a substitute.
  private var waiting = 0
  /// Whether a drainer that has found nothing spins for work.
  private var isSpinning = false
  /// The number of drainers that the queue has begun to run so far.
  private var beginnings = 0
  /// The value of `beginnings` at the last check, if work and drainers were queued then.
  private var checked: Int?
  /// The number of consecutive checks that found that the queue had begun no further drainer.
  private var stalls = 0
  /// The number of stalls that shows that there is no thread for a drainer, whatever threads wait for.
  private static let manyStalls = 1_000
  /// Whether the queue was seen to have no thread for a drainer, and has begun none since.
  private(set) var isScarce = false

  /// The limits within which the pool may add workers.
  struct Capacity {
    /// The number of drainers that the pool may have.
    var drainers: Int
    /// The number of drainers that may run.
    var width: Int
    /// The number of the pool's workers that may run, beside those of other pools.
    var stepPlaces: Int
    /// The number of the pool's workers that may run, also beside the user's operations, as far as these are known.
    var places: Int
    /// Whether substitutes may start actions, since the queue has no thread for its drainers.
    var maySubstitute: Bool
  }

  /// The actions, taken outside the lock, that bring a worker to a job; empty if the present workers suffice.
  struct Reinforcement: OptionSet {
    let rawValue: Int
    static let drainer = Reinforcement(rawValue: 1)
    static let substitute = Reinforcement(rawValue: 2)
    /// Notify the spinning drainer.
    static let notifySpinning = Reinforcement(rawValue: 4)
    /// Check from time to time whether the queue begins the drainer.
    static let watch = Reinforcement(rawValue: 8)
    /// Add the worker that runs ends without a place.
    static let ender = Reinforcement(rawValue: 16)
  }

  /// Whether a push must look at the state although there are as many drainers as there may be.
  var pushNeedsState: Bool { isSpinning || isScarce }

  /// Whether there are steps or ends.
  var hasWork: Bool { !steps.isEmpty || !ends.isEmpty }

  /// Whether the pool has no worker at all.
  var isIdle: Bool { drainers + substitutes == 0 }

  /// The drainers that the queue has begun to run.
  var begun: Int { drainers - queued }

  /// The workers that have a place, and do not wait.
  var running: Int { begun + substitutes - waiting }

  /// Decides on workers for a start or a step that was pushed, or for what is left.
  mutating func startPushed(_ capacity: Capacity) -> Reinforcement {
    if isSpinning { return notifySpinning() }
    var reinforcement = addDrainer(capacity)
    if capacity.maySubstitute, queued > 0 {
      reinforcement.formUnion(addSubstitute(within: capacity.places))
    }
    return reinforcement
  }

  mutating func push(step job: Job, isSuspended: Bool, _ capacity: Capacity) -> Reinforcement {
    steps.append(job)
    return stepPushed(isSuspended: isSuspended, capacity)
  }

  mutating func push(end job: Job, isSuspended: Bool, _ capacity: Capacity) -> Reinforcement {
    ends.append(job)
    return endsAreLeft(capacity) ?? stepPushed(isSuspended: isSuspended, capacity)
  }

  /// Decides on the ender, if ends are left and all places are taken, perhaps by actions that block; nil if not.
  private mutating func endsAreLeft(_ capacity: Capacity) -> Reinforcement? {
    guard !ends.isEmpty, !isSpinning, running >= capacity.stepPlaces else { return nil }
    let reinforcement: Reinforcement = hasEnder ? [] : .ender
    hasEnder = true
    return reinforcement
  }

  private mutating func stepPushed(isSuspended: Bool, _ capacity: Capacity) -> Reinforcement {
    if isSpinning { return notifySpinning() }
    // A suspended queue would hold a new drainer back.
    if isSuspended { return addSubstitute(within: capacity.stepPlaces) }
    let reinforcement = startPushed(capacity)
    // The queue may be suspended, if it is a user's, or run a user's operation in place of the drainer.
    return queued > 0 ? reinforcement.union(.watch) : reinforcement
  }

  /// Takes a step or an end for a worker that has a place, and decides on a worker for the ends behind it.
  mutating func popStep(_ capacity: Capacity) -> (job: Job?, reinforcement: Reinforcement) {
    wasEndsTurn.toggle()
    let job =
      wasEndsTurn ? ends.popFirst() ?? steps.popFirst() : steps.popFirst() ?? ends.popFirst()
    return (job, endsAreLeft(capacity) ?? [])
  }

  /// Takes an end for the worker without a place; if there is none, the worker has left.
  mutating func popEnd() -> Job? {
    let end = ends.popFirst()
    if end == nil { hasEnder = false }
    return end
  }

  /// Notes that the worker without a place waits, and leaves the other ends to another one.
  mutating func enderWaits() { hasEnder = false }

  /// Decides on substitutes for steps that were left to drainers, since the queue was suspended.
  mutating func queueWasSuspended(_ capacity: Capacity) -> Reinforcement {
    hasWork ? endsAreLeft(capacity) ?? addSubstitute(within: capacity.stepPlaces) : []
  }

  /// Decides on workers for the jobs that are left, since a worker has left or waits.
  mutating func workIsLeft(
    hasStarts: Bool, isSuspended: Bool, _ capacity: Capacity
  ) -> Reinforcement {
    guard hasStarts || hasWork else { return [] }
    guard isSuspended else { return startPushed(capacity).union(endsAreLeft(capacity) ?? []) }
    var reinforcement = queueWasSuspended(capacity)
    // The queue begins the drainer once it is resumed.
    if hasStarts, !isPlanted(.lostWhileSuspended) {
      reinforcement.formUnion(addDrainer(capacity))
    }
    return reinforcement
  }

  /// Notes that a drainer waits: its operation ends, so that the queue runs the next one.
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
  ///   - isAwaited: Whether a blocked thread is known to wait for work on the queue.
  mutating func check(
    startsWait: Bool, isAwaited: Bool, _ capacity: Capacity
  ) -> Reinforcement {
    guard queued > 0, hasWork || startsWait else {
      checked = nil
      return []
    }
    guard checked == beginnings else {
      checked = beginnings
      stalls = 0
      return []
    }
    stalls += 1
    // If all places are taken, there is nothing to begin.
    if startsWait, running < capacity.places, isAwaited || stalls >= Self.manyStalls {
      isScarce = true
    }
    if hasWork {
      return endsAreLeft(capacity) ?? addSubstitute(within: capacity.stepPlaces)
    }
    return isScarce ? addSubstitute(within: capacity.places) : []
  }

  // MARK: Workers

  private mutating func addDrainer(_ capacity: Capacity) -> Reinforcement {
    guard drainers < capacity.drainers else { return [] }
    drainers += 1
    queued += 1
    return .drainer
  }

  private mutating func addSubstitute(within places: Int) -> Reinforcement {
    guard running < places else { return [] }
    substitutes += 1
    return .substitute
  }

  private mutating func notifySpinning() -> Reinforcement {
    isSpinning = false
    return .notifySpinning
  }

  /// Notes that the queue runs a drainer.
  mutating func drainerBegins() {
    queued -= 1
    beginnings += 1
    isScarce = false
  }

  /// Moves a drainer to the end of the queue.
  mutating func drainerRequeues(isSuspended: Bool, _ capacity: Capacity) -> Reinforcement {
    queued += 1
    if !hasWork { return [] }
    return isSuspended ? addSubstitute(within: capacity.stepPlaces) : .watch
  }

  /// Lets a drainer that found nothing spin; returns false if there is work, or another drainer spins.
  mutating func beginSpinning(_ capacity: Capacity) -> Bool {
    guard !hasWork, drainers <= capacity.width, waiting == 0, !isSpinning else { return false }
    isSpinning = true
    return true
  }

  /// Ends the spinning; returns whether a push has notified the drainer meanwhile.
  mutating func endSpinning() -> Bool {
    defer { isSpinning = false }
    return !isSpinning
  }

  /// Removes a worker that found nothing; returns false if there are steps or ends for it.
  ///
  /// Other threads may have pushed starts meanwhile. So the worker has to check once more, when they can see that it
  /// has left.
  mutating func leave(isSubstitute: Bool) -> Bool {
    guard !hasWork else { return false }
    if isSubstitute { substitutes -= 1 } else { drainers -= 1 }
    return true
  }

  /// Whether substitutes may start actions; if not, drainers take all starts.
  func substitutesMayStart(_ capacity: Capacity) -> Bool {
    capacity.maySubstitute && running <= capacity.places
  }
}
