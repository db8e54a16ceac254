/// The life of one dispatch that several threads take part in, without threads.
struct DispatchState {
  private enum Phase {
    /// Waits for its turn at the scheduler, for other dispatches, or between two actions of a sequence for
    /// the queue to be resumed. Can become running or ending.
    case waiting(Waiting)
    /// Its actions run. Can become waiting (between two actions) or ending.
    case running(DispatchWork)
    /// Its completion runs. Can become ended.
    case ending
    /// Nothing follows.
    case ended(DispatchResult)
  }

  private struct Waiting {
    /// Others know it, and its scheduler has it not yet, so that a cancellation is only noted.
    ///
    /// It was made inside an exclusive section, or is being scheduled.
    var isUnaccepted = false
    /// It begins later, and is not scheduled before.
    var isDelayed = false
    /// The scheduler has started it, and keeps its place.
    var isParked = false
    /// The dispatches to be waited for, and how many of them have not ended.
    var before: [Dispatch] = []
    var missing = 0
    /// What it passes after these have ended, before it starts; nil for most.
    var turn: GateTurn?
  }

  private var phase: Phase
  private var waiters: [@Sendable () -> Void] = []
  private(set) var isCancelled = false
  /// Why it was cancelled, where it would have waited for ever, or its time has passed.
  private(set) var refusal: DispatchError?
  /// Its time limit, where it has one.
  private(set) var limit: TimeLimit?
  /// What is called once its stores have ended, after the waiters.
  private var overWaiters: [@Sendable () -> Void] = []
  /// What is called once its stores have ended, before its result is there.
  private var releases: [@Sendable () -> Void] = []

  /// For a dispatch that one thread had to itself until now.
  init(isRunning: Bool) {
    phase = isRunning ? .running(.none) : .waiting(Waiting())
  }

  /// How it ended: with its stores, or at its deadline.
  var result: DispatchResult? {
    if let early = limit?.early, early.isClaimed { return early.result }
    return if case .ended(let result) = phase { result } else { nil }
  }

  /// Whether its completion has run, or is about to.
  var isEnding: Bool {
    switch phase {
    case .ending, .ended: true
    case .waiting, .running: false
    }
  }

  /// Whether its stores have ended: where it has ended at its deadline, that may be later.
  var isOver: Bool {
    if case .ended = phase { true } else { false }
  }

  /// Whether no closure waits for its end, it was not cancelled, and nothing is left of its limit's timer.
  var isUndisturbed: Bool {
    waiters.isEmpty && !isCancelled && refusal == nil && limit?.isOver != false
      && overWaiters.isEmpty && releases.isEmpty
  }

  /// Makes it as it was at first, if it is undisturbed; the limit that it had, to be released outside of the lock.
  mutating func reset() -> TimeLimit? {
    phase = .waiting(Waiting())
    return limit.take()
  }

  /// How many closures wait for its end.
  var waiterCount: Int { waiters.count }

  /// Whether it runs, or will run, at its scheduler.
  var needsScheduler: Bool {
    switch phase {
    case .waiting, .running: true
    case .ending, .ended: false
    }
  }

  /// Whether it waits to run.
  var isWaiting: Bool {
    if case .waiting = phase { true } else { false }
  }

  /// Whether another dispatch may take its place: not while a thread takes it to its stores.
  var isDroppable: Bool {
    if case .waiting(let waiting) = phase { !waiting.isUnaccepted && !isCancelled } else { false }
  }

  /// The dispatches that it waits for before it runs.
  var before: [Dispatch] {
    if case .waiting(let waiting) = phase { waiting.before } else { [] }
  }

  /// The gate that it has not passed yet.
  var gate: StartGate? {
    if case .waiting(let waiting) = phase { waiting.turn?.gate } else { nil }
  }

  /// Whether it has such a gate; without a reference to that.
  var isGated: Bool {
    if case .waiting(let waiting) = phase { waiting.turn != nil } else { false }
  }

  /// The same gate where it has come to it.
  var gateAtTurn: StartGate? {
    guard case .waiting(let waiting) = phase, let turn = waiting.turn, turn.isReached else {
      return nil
    }
    return turn.gate
  }

  /// Whether its end releases what others may wait for.
  var isHolder: Bool { !releases.isEmpty }

  /// What runs of it.
  var work: DispatchWork {
    if case .running(let work) = phase { work } else { .none }
  }

  /// It is not to run before these have ended.
  mutating func wait(for before: [Dispatch]) {
    guard case .waiting(var waiting) = phase else { return }
    (waiting.before, waiting.missing) = (before, before.count)
    phase = .waiting(waiting)
  }

  /// It is to pass a gate after that, before it runs.
  mutating func wait(at gate: StartGate) {
    guard case .waiting(var waiting) = phase else { return }
    waiting.turn = GateTurn(gate)
    phase = .waiting(waiting)
  }

  /// Others know it before its scheduler has it.
  mutating func awaitAcceptance() {
    guard case .waiting(var waiting) = phase else { return }
    waiting.isUnaccepted = true
    phase = .waiting(waiting)
  }

  // MARK: A delay

  /// Whether it has been accepted, and begins later.
  var isDelayed: Bool {
    if case .waiting(let waiting) = phase { waiting.isDelayed } else { false }
  }

  /// It may begin later.
  mutating func beginDelay() {
    guard case .waiting(var waiting) = phase else { return }
    waiting.isDelayed = true
    phase = .waiting(waiting)
  }

  /// It begins; false where it has ended, or is about to.
  ///
  /// - Parameter isUnaccepted: Whether a cancellation is only noted until `endAcceptance(refusing:)`.
  mutating func endDelay(isUnaccepted: Bool) -> Bool {
    guard case .waiting(var waiting) = phase, waiting.isDelayed else { return false }
    waiting.isDelayed = false
    waiting.isUnaccepted = isUnaccepted || waiting.isUnaccepted
    phase = .waiting(waiting)
    return true
  }

  /// It does not begin.
  mutating func skip(_ error: DispatchError) -> Cancel {
    guard case .waiting = phase, !isCancelled else { return .none }
    refusal = refusal ?? error
    return cancel()
  }

  /// Its scheduler has it; what a refusal, or a cancellation that came meanwhile, leads to.
  mutating func endAcceptance(refusing error: DispatchError?) -> Cancel {
    guard case .waiting(var waiting) = phase else { return .none }
    waiting.isUnaccepted = false
    phase = .waiting(waiting)
    if let error { refusal = error }
    return error != nil || isCancelled && !isPlanted(.lostAtAcceptance) ? cancel() : .none
  }

  enum Start {
    /// Its actions run now.
    case run
    /// Its place is kept until the dispatches before it have ended.
    case park
    /// The same, and this thread tries its gate.
    case tryGate(StartGate)
    /// It was cancelled; its place is skipped.
    case skip
  }

  /// The scheduler starts it.
  mutating func start() -> Start {
    guard case .waiting(var waiting) = phase, !isCancelledUnaccepted else { return .skip }
    if waiting.missing == 0, waiting.turn == nil {
      phase = .running(.none)
      return .run
    }
    waiting.isParked = true
    let gate = waiting.missing == 0 ? waiting.turn?.begin() : nil
    phase = .waiting(waiting)
    return gate.map(Start.tryGate) ?? .park
  }

  enum GateTrial {
    /// Its actions run now.
    case run
    /// It is parked until the gate may open.
    case park
    /// The gate may have opened meanwhile.
    case tryAgain
    /// It was cancelled meanwhile, and ends elsewhere.
    case skip
  }

  /// A thread has tried its gate.
  mutating func tried(_ isOpen: Bool) -> GateTrial {
    guard case .waiting(var waiting) = phase, var turn = waiting.turn else { return .skip }
    if isOpen, !isCancelledUnaccepted {
      phase = .running(.none)
      return .run
    }
    let isAgain = turn.end() && !isOpen
    waiting.turn = turn
    phase = .waiting(waiting)
    return isAgain ? .tryAgain : .park
  }

  /// Its gate may have opened; whether it is to be started again, at the place that it keeps.
  mutating func gateMayOpen() -> Bool {
    guard case .waiting(var waiting) = phase, var turn = waiting.turn else { return false }
    let isParked = turn.mayOpen()
    waiting.turn = turn
    phase = .waiting(waiting)
    return isParked && !isCancelledUnaccepted
  }

  /// It waits between two actions; false where it is cancelled, and goes on to its end.
  mutating func pause() -> Bool {
    guard !isCancelled else { return false }
    phase = .waiting(Waiting(isParked: true))
    return true
  }

  /// One of the dispatches before it has ended; whether it can run now, at the place that it keeps.
  mutating func oneBeforeEnded() -> Bool {
    guard case .waiting(var waiting) = phase else { return false }
    waiting.missing = isPlanted(.oneBeforeIsEnough) ? 0 : waiting.missing - 1
    phase = .waiting(waiting)
    return waiting.isParked && waiting.missing == 0 && !isCancelledUnaccepted
  }

  /// Whether the end of its acceptance will end it.
  private var isCancelledUnaccepted: Bool {
    if case .waiting(let waiting) = phase { waiting.isUnaccepted && isCancelled } else { false }
  }

  enum Cancel {
    /// It ends now, without having run.
    case end(wasParked: Bool, wasDelayed: Bool)
    /// This is cancelled.
    case cancel(DispatchWork)
    /// The same, and it ends now: what is given out does not wait for the stores.
    case endEarly(EarlyEnd, DispatchWork)
    case none
  }

  mutating func cancel() -> Cancel {
    switch phase {
    case .waiting(let waiting) where waiting.isUnaccepted:
      isCancelled = true
      return .none
    case .waiting(let waiting):
      isCancelled = true
      phase = .ending
      return .end(wasParked: waiting.isParked, wasDelayed: waiting.isDelayed)
    case .running(let work):
      defer { isCancelled = true }
      return isCancelled ? .none : .cancel(work)
    case .ending, .ended:
      return .none
    }
  }

  /// It gets a time limit, before it is scheduled.
  mutating func put(_ limit: TimeLimit) {
    self.limit = limit
  }

  /// Its deadline has come: it is cancelled, and has timed out.
  mutating func timeOut(_ error: DispatchError) -> Cancel {
    switch phase {
    case .waiting:
      refusal = refusal ?? error
      return cancel()
    case .running(let work):
      if refusal != nil || limit?.isSettled == true { return .none }
      refusal = error
      let present = isCancelled ? DispatchWork.none : work
      isCancelled = true
      guard let early = limit?.claimEnd() else { return .cancel(present) }
      return .endEarly(early, present)
    case .ending, .ended:
      return .none
    }
  }

  /// Whether something may wait or run that the deadline ends before the dispatch looks at the time itself.
  func needsTimer(startsHere: Bool) -> Bool {
    guard limit?.isOfReduction == true else { return true }
    guard case .waiting(let waiting) = phase else { return false }
    return !startsHere || waiting.missing > 0 || waiting.turn != nil || waiting.isDelayed
  }

  /// Whether its stores run, and the deadline may change how it ends.
  var isUnsettled: Bool {
    if case .running = phase { limit?.isSettled == false } else { false }
  }

  /// Notes that the last store has ended; returns the timer, to be removed.
  ///
  /// - Parameter error: How it has timed out, if its deadline has passed.
  mutating func settle(_ error: DispatchError?) -> TimerToken? {
    guard isUnsettled else { return nil }
    limit?.isSettled = true
    if let error, refusal == nil { refusal = error }
    return limit?.timer.take()
  }

  /// Keeps its timer until its stores have ended; false if that is about to happen, or has.
  mutating func keep(_ timer: TimerToken) -> Bool {
    guard needsScheduler, limit?.isSettled == false else { return false }
    limit?.timer = timer
    return true
  }

  /// Notes how far the dispatch comes, for an end at the deadline; nil if no such end comes, or it has.
  var notes: EarlyEnd? { mutating get { limit?.notes } }

  /// A store of an inline run starts; false if the dispatch has ended at its deadline.
  mutating func noteStart(at index: Int, of identifiers: [String]) -> Bool {
    limit?.noteStart(at: index, of: identifiers) ?? true
  }

  /// Gives up the dispatcher at the end, to be released outside of the lock.
  mutating func takeDispatcher() -> Dispatcher? { limit?.dispatcher.take() }

  /// It ends before its stores; the closures that wait for the end.
  mutating func endEarly(_ result: DispatchResult) -> [@Sendable () -> Void] {
    limit?.early?.result = result
    defer { waiters = [] }
    return waiters
  }

  /// A part of it begins; whether that is to be cancelled first.
  mutating func begin(_ work: DispatchWork) -> Bool {
    phase = .running(work)
    return isCancelled
  }

  /// The part that ran has ended.
  mutating func endWork() {
    if case .running = phase { phase = .running(.none) }
  }

  /// From here on no deadline changes how it ends; the timer, to be removed.
  mutating func beginEnding() -> TimerToken? {
    phase = .ending
    return limit?.timer.take()
  }

  /// Its stores have ended; the closures that wait for that, and for the end where it has come.
  mutating func end(_ result: DispatchResult) -> [@Sendable () -> Void] {
    phase = .ended(result)
    // Mostly there is none.
    if waiters.isEmpty, releases.isEmpty, overWaiters.isEmpty { return [] }
    // Those that have come meanwhile.
    let overWaiters = releases + overWaiters
    defer { (self.overWaiters, releases) = ([], []) }
    // One whose end was claimed at its deadline gets its result there.
    if self.result == nil { return overWaiters }
    defer { waiters = [] }
    return waiters + overWaiters
  }

  /// Whether the waiter will be called; false where the dispatch has ended.
  mutating func wait(_ waiter: @escaping @Sendable () -> Void) -> Bool {
    if result != nil { return false }
    waiters.append(waiter)
    return true
  }

  /// Whether it will be called before the result is there; false where the stores have ended.
  mutating func keepRelease(_ release: @escaping @Sendable () -> Void) -> Bool {
    if isOver { return false }
    releases.append(release)
    return true
  }

  mutating func takeReleases() -> [@Sendable () -> Void] {
    defer { releases = [] }
    return releases
  }

  /// The same for the end of its stores.
  mutating func waitUntilOver(_ waiter: @escaping @Sendable () -> Void) -> Bool {
    if isOver { return false }
    overWaiters.append(waiter)
    return true
  }
}

/// What runs of a dispatch, beside an inline run.
enum DispatchWork {
  case none
  /// Its action, store by store.
  case round(Round)
  /// Of a sequence, the dispatch of one action.
  case step(Dispatch)

  func cancel() {
    switch self {
    case .none: break
    case .round(let round): round.cancel()
    case .step(let dispatch): dispatch.cancel()
    }
  }

  /// Whether only one store's part is under way.
  var isAlone: Bool {
    switch self {
    case .none: false
    case .round(let round): round.isAlone
    case .step(let dispatch): dispatch.isAlone
    }
  }

  /// Whether only the delivery of deferred commits is under way.
  var onlyDeliveryIsLeft: Bool {
    switch self {
    case .none: false
    case .round(let round): round.onlyDeliveryIsLeft
    case .step(let dispatch): dispatch.onlyDeliveryIsLeft
    }
  }
}
