/// The state machine of one dispatch that several threads take part in, without threads.
struct DispatchState {
  private enum Phase {
    /// Waits for its turn at the scheduler, for other dispatches, or between two actions for a suspended queue. Can
    /// become running or ending.
    case waiting(Waiting)
    /// The actions run. Can become waiting (between two actions), saving or ending.
    case running(DispatchWork)
    /// The stores have ended, and their commits are being saved. Can become ending.
    case saving(PendingEnd)
    /// The completion runs. Can become ended.
    case ending
    /// The final phase.
    case ended(DispatchResult)
  }

  private struct Waiting {
    /// Whether it is shared, but not yet with its scheduler, so that a cancellation is only noted.
    ///
    /// True while it is being scheduled if its admission has announced it or its delay has ended, and for a dispatch
    /// made inside an exclusive section.
    var isUnaccepted = false
    /// Whether it begins later, and is not scheduled before.
    var isDelayed = false
    /// Whether its delay is not arranged yet, so that a cancellation is only noted until `delayIsArranged()`.
    var isArranging = false
    /// Whether the scheduler has started it, and keeps its position.
    var isParked = false
    /// Whether it is a sequence that pauses between two actions.
    var isBetweenActions = false
    /// The number of dispatches to wait for that have not ended.
    var missing = 0
    /// The gate to pass after these have ended, before it starts; nil for most.
    var turn: GateTurn?
  }

  private var phase: Phase
  /// The dispatches to wait for, until `takeWaitedFor()`.
  private var waitedFor: [Dispatch] = []
  private var waiters: [Waiter] = []
  private(set) var isCancelled = false
  /// Whether it was cancelled before its deadline passed.
  private(set) var wasCancelledBeforeDeadline = false
  /// Whether the task that sent the dispatch is cancelled, so that it does not start, nor what its block dispatches.
  var isTaskCancelled = false
  /// The error of a cancellation because of a deadlock or a passed deadline.
  private(set) var refusal: DispatchError?
  /// The time limit, if any; set before it is scheduled.
  var limit: TimeLimit?
  /// The gate that is to be told of the end; nil once it was, and for most.
  private(set) var toldGate: StartGate?
  /// Closures to call at its end, besides the waiters; none for most.
  private var calls: [(moment: EndMoment, body: @Sendable () -> Void)] = []

  // Data under the same lock, on which no transition depends.
  /// The scheduler for later steps.
  ///
  /// Strong, because operations report from arbitrary threads.
  var scheduler: Scheduler?
  /// Deferred commits of the inline run's current store.
  var undelivered = 0
  /// The store run that has taken over the inline run's current store.
  var successor: StoreRun?
  /// The replies of stores, by their identifiers.
  var replies: [String: any Sendable] = [:]
  /// The links of the dispatch.
  var family: DispatchFamily?
  /// The deadline of the enclosing block, on the caller's thread or in its task, if this dispatch has no time limit.
  var linkedDeadline: InheritedDeadline?
  /// Whether it has come to a persistent store; noted only if the end does not wait for saving.
  var hasPersistentStore = false
  /// Whether something follows the dispatch, or one of its actions.
  var isFollowed = false

  /// The data of the phase before it runs; setting it has no effect in other phases.
  private var waiting: Waiting? {
    get { if case .waiting(let waiting) = phase { waiting } else { nil } }
    set { if case .waiting = phase, let newValue { phase = .waiting(newValue) } }
  }

  /// Creates the state of a dispatch that one thread had to itself until now.
  init(isRunning: Bool) {
    phase = isRunning ? .running(.none) : .waiting(Waiting())
  }

  /// The result once it has ended, with its stores or at its deadline.
  var result: DispatchResult? {
    if let early = limit?.early { return early.result }
    return resultOfStores
  }

  /// Whether its deadline has claimed the end, and the completion has not returned.
  var isEndingEarly: Bool { limit?.early.map { $0.result == nil } ?? false }

  /// The result of its stores once they have ended; at a deadline, `result` has come before.
  var resultOfStores: DispatchResult? {
    if case .ended(let result) = phase { result } else { nil }
  }

  /// Whether its completion has run, or is about to.
  ///
  /// Closures that are to run before the result are being called then, or were. A later one would come too late:
  /// whoever sees the result may go on before.
  var isEnding: Bool {
    switch phase {
    case .ending, .ended: true
    case .waiting, .running, .saving: false
    }
  }

  /// Whether its stores have ended.
  ///
  /// If the dispatch has ended at its deadline, that may be later.
  var isOver: Bool {
    if case .ended = phase { true } else { false }
  }

  /// Whether nothing waits for its end, it was not cancelled, and its limit has no timer left.
  ///
  /// False if the dispatch runs in a task: a search may find it through its lane until after its end.
  var isForgettable: Bool {
    waiters.isEmpty && !isCancelled && refusal == nil && limit?.isOver != false
      && calls.isEmpty && toldGate == nil && replies.isEmpty && scheduler?.isTask != true
      && family.map { $0.children.isEmpty && $0.waiters.isEmpty } != false
  }

  /// The number of closures that wait for its end.
  var waiterCount: Int { waiters.count { !$0.isIdle } }

  /// Whether it runs, or will run, at its scheduler.
  var needsScheduler: Bool {
    switch phase {
    case .waiting, .running: true
    case .saving(let end): end.keepsPlace
    case .ending, .ended: false
    }
  }

  /// Whether it is a sequence that pauses between two actions.
  var isBetweenActions: Bool { waiting?.isBetweenActions == true }

  /// Whether it waits to run.
  var isWaiting: Bool { waiting != nil }

  /// Whether another dispatch may replace it.
  var isDroppable: Bool { waiting?.isBetweenActions == false && !isCancelled }

  /// The dispatches that it waits for before it runs.
  var before: [Dispatch] { isWaiting ? waitedFor : [] }

  /// The gate that it has not passed yet.
  var gate: StartGate? { waiting?.turn?.gate }

  /// The gate, if its turn has come and it has not passed.
  var gateAtTurn: StartGate? {
    waiting?.turn?.isReached == true ? gate : nil
  }

  /// Whether its end releases resources that others may wait for.
  var isHolder: Bool { calls.contains { $0.moment != .over } }

  /// The work that is running.
  var work: DispatchWork {
    if case .running(let work) = phase { work } else { .none }
  }

  /// Makes it wait for these dispatches before it runs.
  mutating func wait(for before: [Dispatch]) {
    guard isWaiting else { return }
    waitedFor = before
    waiting?.missing = before.count
  }

  /// Takes the dispatches that it no longer waits for, to be released outside of the lock: the deinitialization of a
  /// reply is code of the program.
  mutating func takeWaitedFor() -> [Dispatch] {
    guard !isWaiting else { return [] }
    defer { waitedFor = [] }
    return waitedFor
  }

  /// Makes it pass a gate before it runs, after the dispatches that it waits for.
  ///
  /// - Parameter isTold: Whether the gate is told of the end.
  mutating func wait(at gate: StartGate, isTold: Bool = false) {
    guard isWaiting else { return }
    waiting?.turn = GateTurn(gate)
    if isTold { toldGate = gate }
  }

  /// The dispatcher, while a gate is to be told of the end; nil for most.
  var dispatcherToTellGate: Dispatcher? { toldGate == nil ? nil : limit?.dispatcher }

  /// Takes the gate that is to be told of the end.
  mutating func takeToldGate() -> StartGate? { toldGate.take() }

  /// Notes that it is shared before its scheduler has it.
  mutating func awaitAcceptance() { waiting?.isUnaccepted = true }

  /// The state that dispatches of its blocks inherit.
  var inheritance: Inheritance {
    Inheritance(
      isCancelled: isCancelled || isTaskCancelled, hasTimedOut: refusal != nil,
      refusesFollowers: family?.refusesFollowers == true)
  }

  // MARK: A delay

  /// Whether it has been accepted, and begins later.
  var isDelayed: Bool { waiting?.isDelayed == true }

  /// Delays the beginning.
  mutating func beginDelay() {
    waiting?.isDelayed = true
    waiting?.isArranging = !isPlanted(.cancelledUnarranged)
  }

  /// Notes that the delay is arranged; returns the effect of a cancellation that came meanwhile.
  mutating func delayIsArranged() -> Cancel {
    guard waiting?.isArranging == true else { return .none }
    waiting?.isArranging = false
    return isCancelled ? cancel() : .none
  }

  /// Ends the delay.
  ///
  /// Returns false if the dispatch has ended, or is about to.
  ///
  /// - Parameter isUnaccepted: Whether a cancellation is only noted until `endAcceptance(refusing:)`.
  mutating func endDelay(isUnaccepted: Bool) -> Bool {
    guard isDelayed else { return false }
    waiting?.isDelayed = false
    waiting?.isArranging = false
    if isUnaccepted { awaitAcceptance() }
    return true
  }

  /// Ends it with an error before it begins.
  mutating func skip(_ error: DispatchError) -> Cancel {
    guard isDroppable else { return .none }
    refusal = refusal ?? error
    return cancel()
  }

  /// Notes that its scheduler has it; returns the effect of a refusal, or of a cancellation that came meanwhile.
  mutating func endAcceptance(refusing error: DispatchError?) -> Cancel {
    guard isWaiting else { return .none }
    waiting?.isUnaccepted = false
    if let error { refusal = error }
    return error != nil || isCancelled && !isPlanted(.lostAtAcceptance) ? cancel() : .none
  }

  enum Start {
    /// Run the actions now.
    case run
    /// Keep the position until the dispatches that it waits for have ended, or its gate may open.
    case park
    /// Keep the position, and try this gate on this thread.
    case tryGate(StartGate)
    /// Skip the position of a cancelled dispatch.
    case skip
  }

  /// Starts it, called by the scheduler.
  mutating func start() -> Start {
    // A sequence that was cancelled between two actions goes on to its end.
    if case .running = phase { return .park }
    if case .saving = phase { return .park }
    guard var waiting, !isAboutToEnd else { return .skip }
    if waiting.missing == 0, waiting.turn == nil {
      phase = .running(.none)
      return .run
    }
    waiting.isParked = true
    let gate = waiting.missing == 0 ? waiting.turn?.begin() : nil
    phase = .waiting(waiting)
    return gate.map(Start.tryGate) ?? .park
  }

  /// Notes that a thread has tried its gate, which may have opened meanwhile.
  mutating func tried(_ isOpen: Bool) -> Start {
    guard let gate else { return .skip }
    if isOpen, !isAboutToEnd {
      phase = .running(.none)
      return .run
    }
    let mayHaveOpened = waiting?.turn?.end() == true
    return mayHaveOpened && !isOpen ? .tryGate(gate) : .park
  }

  /// Notes that its gate may have opened; returns whether to start it again, at the position that it keeps.
  mutating func gateMayOpen() -> Bool {
    let isParked = waiting?.turn?.mayOpen() == true
    return isParked && !isAboutToEnd
  }

  /// Pauses between two actions; returns false if it is cancelled, and continues to its end.
  mutating func pause() -> Bool {
    guard !isCancelled else { return false }
    phase = .waiting(Waiting(isParked: true, isBetweenActions: true))
    return true
  }

  /// Notes that a dispatch that it waits for has ended.
  ///
  /// Returns whether it can run now, at the position that it keeps.
  mutating func oneBeforeEnded() -> Bool {
    guard var waiting else { return false }
    waiting.missing = isPlanted(.oneBeforeIsEnough) ? 0 : waiting.missing - 1
    phase = .waiting(waiting)
    return waiting.isParked && waiting.missing == 0 && !isAboutToEnd
  }

  /// Whether a thread is about to end it: one that ends its acceptance, or one that cancels it with its task.
  private var isAboutToEnd: Bool { waiting?.isUnaccepted == true && isCancelled || isTaskCancelled }

  enum Cancel {
    /// The dispatch ends now, without having run.
    case end(wasParked: Bool, wasDelayed: Bool)
    /// The sequence, which paused between two actions, goes on to its end.
    case goOn
    /// The work is to be cancelled.
    case cancel(DispatchWork)
    /// The dispatch ends now: its result does not wait for the stores. The work is to be cancelled, unless it was before.
    case endEarly(EarlyEnd, DispatchWork, wasCancelled: Bool)
    /// The dispatch ends now, although its commits are not saved.
    case endUnsaved(PendingEnd)
    case none
  }

  mutating func cancel() -> Cancel {
    switch phase {
    case .waiting(let waiting) where waiting.isUnaccepted || waiting.isArranging:
      isCancelled = true
      return .none
    case .waiting(let waiting) where waiting.isBetweenActions:
      isCancelled = true
      phase = .running(.none)
      return .goOn
    case .waiting(let waiting):
      isCancelled = true
      phase = .ending
      return .end(wasParked: waiting.isParked, wasDelayed: waiting.isDelayed)
    case .running(let work):
      defer { isCancelled = true }
      return isCancelled ? .none : .cancel(work)
    case .saving, .ending, .ended:
      return .none
    }
  }

  /// Times out: its deadline has passed, so it is cancelled.
  mutating func timeOut(_ error: DispatchError) -> Cancel {
    switch phase {
    case .waiting:
      refusal = refusal ?? error
      return cancel()
    case .running(let work):
      if refusal != nil || limit?.isSettled == true { return .none }
      refusal = error
      wasCancelledBeforeDeadline = isCancelled
      isCancelled = true
      if let early = limit?.claimEnd() {
        return .endEarly(early, work, wasCancelled: wasCancelledBeforeDeadline)
      }
      return .cancel(wasCancelledBeforeDeadline ? .none : work)
    case .saving(let end):
      if refusal != nil || limit?.isSettled == true { return .none }
      refusal = error.afterCommit
      phase = .ending
      return .endUnsaved(end)
    case .ending, .ended:
      return .none
    }
  }

  /// Whether a wait or a step may last past the deadline before the dispatch checks the time itself.
  ///
  /// - Parameter startsHere: Whether this thread is about to run the dispatch, if nothing holds it back.
  func needsTimer(startsHere: Bool) -> Bool {
    guard limit?.isOfReduction == true else { return true }
    guard let waiting else { return false }
    return !startsHere || waiting.missing > 0 || waiting.turn != nil || waiting.isDelayed
  }

  /// Whether it is a reduction that has none, and goes on in a round, where it may be held back.
  var needsTimerInRound: Bool { limit?.isOfReduction == true && limit?.timer == nil }

  /// Whether its stores run, and the deadline may change how it ends.
  var isUnsettled: Bool {
    switch phase {
    case .running, .saving: limit?.isSettled == false
    case .waiting, .ending, .ended: false
    }
  }

  /// Notes that the last store has ended; returns the timer, to be removed.
  ///
  /// - Parameter error: The timeout, if its deadline has passed.
  mutating func settle(_ error: DispatchError?) -> TimerToken? {
    guard isUnsettled else { return nil }
    limit?.isSettled = true
    if let error, refusal == nil {
      if case .saving = phase { refusal = error.afterCommit } else { refusal = error }
    }
    return limit?.timer.take()
  }

  /// Keeps its timer until its stores have ended; returns false if they have, or are about to.
  mutating func keep(_ timer: TimerToken) -> Bool {
    guard isUnsettled || isWaiting else { return false }
    limit?.timer = timer
    return true
  }

  /// Notes that a store of an inline run starts; returns false if the dispatch has ended at its deadline.
  mutating func claimStoreStart() -> Bool { limit?.claimStoreStart() ?? true }

  /// Ends it before its stores; returns the closures that wait for the end.
  mutating func endEarly(_ result: DispatchResult) -> [@Sendable () -> Void] {
    limit?.early?.result = result
    defer { waiters = [] }
    return waiters.map(\.body)
  }

  /// Begins a part of the work; returns whether that is to be cancelled first.
  mutating func begin(_ work: DispatchWork) -> Bool {
    phase = .running(work)
    return isCancelled
  }

  /// Notes that the running part has ended.
  mutating func endWork() {
    if case .running = phase { phase = .running(.none) }
  }

  // MARK: Saving

  /// Notes that all stores have ended, and that the end waits until their commits are saved.
  mutating func beginSaving(_ end: PendingEnd) { phase = .saving(end) }

  /// Ends the wait for saving; returns false if the dispatch has timed out meanwhile.
  ///
  /// - Parameter error: The reason why nothing was saved.
  mutating func endSaving(_ error: DispatchError?) -> Bool {
    guard case .saving = phase else { return false }
    if let error { refusal = error }
    phase = .ending
    return true
  }

  /// Begins the end, after which no deadline changes the result; returns the timer, to be removed.
  mutating func beginEnding() -> TimerToken? {
    phase = .ending
    return limit?.timer.take()
  }

  /// Ends it with its stores.
  ///
  /// Returns the closures that wait for that, and for the end of the dispatch if it has come.
  mutating func end(_ result: DispatchResult) -> [@Sendable () -> Void] {
    phase = .ended(result)
    // Most dispatches have none.
    if waiters.isEmpty, calls.isEmpty { return [] }
    // Closures that were added meanwhile, before anyone hears of the result.
    let (releases, overCalls) = (takeReleases(), take(.over))
    // If the deadline has claimed the end, it publishes the result, too.
    if self.result == nil { return releases + overCalls }
    defer { waiters = [] }
    return releases + waiters.map(\.body) + overCalls
  }

  /// Adds a closure for the end; returns whether it will be called: false if the dispatch has ended.
  ///
  /// - Parameter idle: Receives waiters that are removed, to be released outside of the lock.
  mutating func wait(_ waiter: Waiter, removing idle: inout [Waiter]) -> Bool {
    if result != nil { return false }
    if waiters.count == waiters.capacity { removeIdleWaiters(to: &idle) }
    waiters.append(waiter)
    return true
  }

  /// Removes the waiters of dispatches that were cancelled meanwhile, and makes room for as many as are left.
  private mutating func removeIdleWaiters(to idle: inout [Waiter]) {
    var waiting: [Waiter] = []
    for waiter in waiters {
      if waiter.isIdle { idle.append(waiter) } else { waiting.append(waiter) }
    }
    waiting.reserveCapacity(2 * waiting.count)
    waiters = waiting
  }

  /// Adds a closure to call at a moment of the end; returns whether it will be called: false if that comes too late.
  mutating func keep(_ body: @escaping @Sendable () -> Void, until moment: EndMoment) -> Bool {
    // The caller knows that the stores have not ended: they have yet to begin, or one of them runs.
    if moment == .over ? isOver : moment != .storesEnd && isEnding { return false }
    calls.append((moment, body))
    return true
  }

  /// Takes the closures for a moment, to be called.
  mutating func take(_ moment: EndMoment) -> [@Sendable () -> Void] {
    if calls.isEmpty { return [] }
    let due = calls.filter { $0.moment == moment }
    if !due.isEmpty { calls.removeAll { $0.moment == moment } }
    return due.map(\.body)
  }

  /// Takes the closures to call before the result is published.
  ///
  /// A dispatch whose stores never run has those for their end, too.
  mutating func takeReleases() -> [@Sendable () -> Void] {
    calls.isEmpty ? [] : take(.storesEnd) + take(.placeFree) + take(.beforeResult)
  }
}
