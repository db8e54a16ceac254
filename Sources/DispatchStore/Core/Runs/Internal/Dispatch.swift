import Synchronization

/// The record of one call of `dispatch`: an action, or a sequence of actions, on its way to a result.
///
/// A scheduler enqueues and starts it. Usually a single step takes its action through all stores (`InlineRun`), and
/// the record is reused if no handle refers to it. `DispatchDetails` are added when other threads take part. A
/// `Round` is added when a store does not finish at once.
///
/// A pending dispatch takes 176 bytes. State that is not atomic belongs to the step that runs.
@usableFromInline
final class Dispatch: DispatchContext, @unchecked Sendable {
  // because the scheduler hands it from step to step, and other threads see its details only
  private(set) var id = DispatchID(rawValue: 0)
  private var parentID = UInt64.max
  /// The next record in a lane's inbox, or in the pool of spare records.
  @exclusivity(unchecked) var next: Unmanaged<Dispatch>?
  /// The stores, whose route accepts the dispatch and counts it as outstanding; that of a sequence has none.
  @exclusivity(unchecked) var route: Unmanaged<Route>?
  /// The scheduler where the dispatch is queued or runs, which exists meanwhile; nil on the caller's thread.
  ///
  /// Atomic, because two threads may touch it at a time. A stream's consumer that delivers a commit reads it.
  /// Meanwhile a task that made a record for that commit may continue in a round. The two have different schedulers.
  private let schedulerBits = Atomic<UInt>(0)
  private(set) var callSite = CallSite("", 0)
  /// Set while the dispatch is pending.
  @exclusivity(unchecked) private var action: (any ActionType)?
  @exclusivity(unchecked) var completion: Completion?
  /// The task-local values to bind when the dispatch runs.
  ///
  /// Constant while another thread may refer to the dispatch.
  @exclusivity(unchecked) var carried: CapturedTaskLocal?
  /// The hooks' session, before the dispatch runs; of a sequence until its end.
  @exclusivity(unchecked) var session: MiddlewareSession?
  /// The sequence that it runs, until its end; nil for an action, and set before the dispatch is shared.
  @exclusivity(unchecked) var sequence: DispatchSequence?
  /// Whether this is one action of a sequence; set before the dispatch is shared.
  @exclusivity(unchecked) var isStep = false
  /// A `DispatchWord`.
  private let word = Atomic<UInt>(DispatchWord.waiting.bits)

  init() { super.init() }

  // MARK: Before it runs

  /// Makes a record without an action, which stands in for a wait, or for a place in a lane.
  convenience init(standIn id: DispatchID, parent: DispatchID? = nil, at callSite: CallSite) {
    self.init()
    setUp(id, parent: parent, to: nil, nil, callSite)
  }

  /// Sets up a new or reused record for a dispatch, which the route counts as outstanding.
  func setUp(
    _ id: DispatchID, parent: DispatchID?, to route: Unmanaged<Route>?,
    _ completion: Completion?, _ callSite: CallSite
  ) {
    self.id = id
    parentID = parent?.rawValue ?? UInt64.max
    self.route = route
    self.completion = completion
    self.callSite = callSite
    isStep = false
    // Other threads may see it before it has a scheduler, and its previous scheduler may be gone.
    activeScheduler = nil
    word.store(DispatchWord.waiting.bits, ordering: .relaxed)
  }

  private var activeScheduler: Unmanaged<Scheduler>? {
    get {
      UnsafeRawPointer(bitPattern: schedulerBits.load(ordering: .acquiring))
        .map(Unmanaged.fromOpaque)
    }
    set {
      let bits = newValue.map { UInt(bitPattern: $0.toOpaque()) } ?? 0
      schedulerBits.store(bits, ordering: .releasing)
    }
  }

  /// Sets the scheduler that will enqueue the dispatch.
  func enter(_ scheduler: Scheduler) {
    activeScheduler = Unmanaged.passUnretained(scheduler)
  }

  /// Changes the scheduler: its named lane was removed after it was looked up.
  func move(to scheduler: Scheduler) {
    // A watched dispatch has details, and another thread may read its scheduler.
    if let details {
      details.withState { _ in enter(scheduler) }
    } else {
      enter(scheduler)
    }
  }

  /// Stores the action of a pending dispatch.
  func put(_ action: __owned any ActionType) { self.action = action }

  /// The action before its start; nil for a list of actions.
  var actionBeforeStart: (any ActionType)? { action }

  /// Moves the action out of the record.
  func takeAction() -> any ActionType { action.take()! }

  /// The error with which its closed dispatcher refuses it.
  var refusalOfRoute: DispatchError? { route?._withUnsafeGuaranteedRef(\.refusal) }

  /// The error with which its route ends it: its store is unknown, say.
  var failureOfRoute: DispatchError? { route?._withUnsafeGuaranteedRef(\.failure) }

  /// Whether it was accepted, and so runs even if its dispatcher no longer accepts any.
  var isAccepted: Bool { route != nil && refusalOfRoute == nil }

  /// Adds the task-local values that middlewares have bound for the dispatch.
  ///
  /// They are kept with the carried values, which a dispatch on its caller's thread or in its task has to capture.
  func bind(_ bound: [CapturedTaskLocal], by dispatcher: Dispatcher) {
    carried = CapturedTaskLocal.adding(bound, to: carried ?? dispatcher.captureTaskLocals())
  }

  /// The task-local values, if middlewares have bound some.
  var bound: CapturedTaskLocal? {
    if let carried, carried.isBound { carried } else { nil }
  }

  /// Calls a closure with the carried values bound.
  func bound<Value, Failure: Error>(
    _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    guard let carried else { return try body() }
    return try carried.bind { () -> Result<Value, Failure> in Result(catching: body) }.get()
  }

  /// The number of its dispatcher, for the thread that runs it; nil before and after.
  var dispatcherNumber: UInt64? {
    route.map { $0._withUnsafeGuaranteedRef(\.dispatcher) }
  }

  /// The dispatcher, while the stores of this dispatch run.
  var runningDispatcher: Dispatcher? {
    sequence?.dispatcher ?? details?.dispatcher ?? scheduler.dispatcher
  }

  /// Whether hooks or other preparation come before its stores or actions; for a sequence, hooks of whole dispatches.
  ///
  /// False for a dispatch that joins another.
  var needsPreparation: Bool {
    route?._withUnsafeGuaranteedRef { route in
      route.needsPreparation
        && (sequence == nil || route.chain.hasWholes && withDetails(\.isJoining) != true)
    } == true
  }

  /// Whether it has one store, which only reduces; valid before it is scheduled.
  var isReduction: Bool {
    route?._withUnsafeGuaranteedRef { $0.onlyReduces && $0.count == 1 && $0.endGate == nil } == true
  }

  /// Whether all stores of its route change or none: with companions, they do if they only reduce.
  func isAtomic(along route: Route) -> Bool {
    route.isAtomic
      || withDetails { $0.isAtomic || !$0.companions.isEmpty && route.isAtomicWithCompanions }
        == true
  }

  /// Begins on this thread; others take part only once it has details.
  func beginHere(inside outer: DispatchContext?) {
    word.store(DispatchWord.running.bits, ordering: .relaxed)
    activeScheduler = nil
    self.outer = outer
  }

  /// Begins when its scheduler starts it and no other thread takes part.
  ///
  /// False if the details hold the state.
  func beginInline() -> Bool {
    yieldPoint(.takeUp, id.description)
    return exchange(.waiting, for: .running).exchanged
  }

  @inline(__always)
  private func exchange(
    _ expected: DispatchWord, for desired: DispatchWord
  ) -> (exchanged: Bool, original: DispatchWord) {
    let (isDone, original) = word.compareExchange(
      expected: expected.bits, desired: desired.bits, ordering: .acquiringAndReleasing)
    return (isDone, DispatchWord(bits: original))
  }

  private var presentWord: DispatchWord { DispatchWord(bits: word.load(ordering: .acquiring)) }

  var parent: DispatchID? {
    parentID == UInt64.max ? nil : DispatchID(rawValue: parentID)
  }

  /// Whether it was dispatched from inside another dispatch.
  var hasParent: Bool { parentID != UInt64.max }

  /// The scheduler of its steps, for the thread that runs or ends it.
  var scheduler: Scheduler { details?.scheduler ?? queuedAt }

  /// Whether its scheduler is suspended.
  var isSchedulerSuspended: Bool {
    if let scheduler = details?.scheduler { return scheduler.isSuspended }
    // Avoids a counted reference.
    return activeScheduler?._withUnsafeGuaranteedRef(\.isSuspended)
      ?? CallerThread.any.isSuspended
  }

  /// The scheduler of its steps, for a thread that searches the wait graph.
  ///
  /// Once the dispatch has ended, its scheduler may be gone.
  var schedulerForWaits: Scheduler {
    withScheduler { $1 } ?? CallerThread.any
  }

  /// Makes a transition with the scheduler, which is nil if the dispatch no longer needs it.
  ///
  /// The dispatch may leave the scheduler afterwards.
  func withScheduler<Result>(_ body: (inout DispatchState, Scheduler?) -> Result) -> Result {
    makeDetails().withState { state in
      // The scheduler at which it is queued exists as long as the dispatch needs it.
      let needed = state.needsScheduler ? state.scheduler ?? queuedAt : nil
      return body(&state, needed)
    }
  }

  /// The scheduler where it is queued; valid only while the dispatch needs it.
  var queuedAt: Scheduler {
    activeScheduler?.takeUnretainedValue() ?? CallerThread.any
  }

  /// Clears the scheduler, which no longer has the dispatch and skips its position.
  func leaveScheduler() {
    activeScheduler = nil
  }

  /// Whether it runs on its caller's thread.
  var isSynchronous: Bool { activeScheduler == nil }

  /// Whether it is a `.sync` dispatch whose caller's thread belongs to the cooperative pool.
  var blocksTaskThread: Bool {
    isSynchronous && (details?.scheduler as? SyncLoop)?.isOnTaskThread == true
  }

  /// Whether it runs in its caller's task, in its turn or in a round.
  ///
  /// Read under the details' lock: a thread that drains a lane reads it for the next dispatch, which another thread
  /// may cancel.
  var isOfTask: Bool { withDetails(\.isOfTask) == true }

  /// Whether stores that do not wait for each other run concurrently.
  var runsConcurrently: Bool {
    activeScheduler?._withUnsafeGuaranteedRef(\.runsStoresConcurrently) == true
  }

  // MARK: Context

  override var dispatch: Dispatch { self }

  /// The context that waits for this dispatch: its caller's, or the sequence's.
  var caller: DispatchContext? {
    guard let outer else { return nil }
    // Not for a completion at the deadline: the record belongs to the thread that still runs its stores.
    let waits = isStep && !outer.isEarly && outer.dispatch.id == parent
    return isSynchronous || isOfTask || waits ? outer : nil
  }

  // MARK: Details

  /// The state that other threads see; nil if none has taken part yet.
  var details: DispatchDetails? { presentWord.details?.takeUnretainedValue() }

  var hasDetails: Bool { presentWord.details != nil }

  /// Passes the details to a closure without retaining them; nil if there are none.
  @inline(__always)
  func withDetails<Result>(_ body: (DispatchDetails) -> Result) -> Result? {
    presentWord.details?._withUnsafeGuaranteedRef(body)
  }

  /// Returns the details, and makes them if there are none.
  ///
  /// Making them is the only transition that hands the state over to them.
  ///
  /// Any thread with a reference may do it. The step that runs the dispatch finds the details before it can end.
  func makeDetails() -> DispatchDetails {
    var word = presentWord
    while true {
      if let present = word.details { return present.takeUnretainedValue() }
      let details = DispatchDetails(isRunning: word.isRunning)
      let made = Unmanaged.passRetained(details)
      let (isDone, present) = exchange(word, for: DispatchWord(made))
      if isDone { return details }
      made.release()
      word = present
    }
  }

  /// Whether the record can be reused after a simple finish, if the caller has the only reference.
  var isReusable: Bool {
    withDetails { $0.isForgettable && hasNoWeakOrUnownedReferences(self) } ?? true
  }

  /// Releases the details before the record is reused.
  ///
  /// The caller has the only reference.
  func releaseDetails() {
    if let details = takeDetails(), details.hasFamily { details.recordIsGone() }
  }

  private func takeDetails() -> DispatchDetails? {
    let former = DispatchWord(
      bits: word.exchange(DispatchWord.running.bits, ordering: .acquiring))
    return former.details?.takeRetainedValue()
  }

  deinit {
    takeDetails()?.recordIsGone()
  }

  /// Keeps an ended dispatch as a spare one, if nothing else refers to it.
  static func recycle(_ dispatch: consuming Dispatch, on thread: ThreadState) {
    guard isUniquelyReferencedForReuse(&dispatch), hasNoWeakOrUnownedReferences(dispatch)
    else { return }
    dispatch.releaseDetails()
    thread.spareDispatches.push(dispatch)
  }

  // MARK: A time limit

  /// Checks the deadline after the last store has ended, before its `didDispatch`.
  ///
  /// Afterwards no deadline changes how the dispatch ends. Only the first call has an effect.
  func settleDeadline() {
    if isStep {
      guard whole !== self, let sequence = whole.sequence, sequence.isAtLastAction else { return }
      // The deadline may still pass while the sequence waits until its commits are saved.
      if sequence.endGate == nil { whole.settleDeadline() }
    } else if let details, details.callsAtStoresEnd {
      details.settleDeadline(at: callSite)
    }
  }

  /// Notes that the stores of its inline run have ended.
  ///
  /// Afterwards no deadline changes how the dispatch ends.
  @inline(__always)
  func storesEnded(with result: () -> DispatchResult) {
    if hasDetails { endStores(with: result) }
  }

  @inline(never)
  private func endStores(with result: () -> DispatchResult) {
    yieldPoint(.endWork, id.description)
    guard let details, details.callsAtStoresEnd, !isPlanted(.lostDeadline) else { return }
    details.settleDeadline(at: callSite)
    details.beginEnding()
    details.storesEnded()
    tellGate(result)
  }

  // MARK: The end

  /// Yields to the test scheduler before the end.
  ///
  /// Without details it does not, because only the compiler's release of a handle decides whether another thread
  /// could see it.
  func yieldBeforeEnd() {
    if hasDetails { yieldPoint(.notifyWaiters, id.description) }
  }

  /// Ends the dispatch.
  ///
  /// Everything else is released before waiting threads and tasks resume, since a handle may live long.
  func end(_ result: DispatchResult) {
    let details = makeDetails()
    let route = release(details, result)
    details.end(result, along: route)
  }

  /// A separate function, so that no reference to released objects is left when the result is published.
  ///
  /// - Returns: The route that counts the dispatch as outstanding; nil if none does.
  private func release(_ details: DispatchDetails, _ result: DispatchResult) -> Unmanaged<Route>? {
    details.beginEnding()
    let releases = details.withState { $0.takeReleases() }
    let companions = details.companions
    if !companions.isEmpty {
      details.companions = []
      // Before the route is released: an action that was made in an exclusive section got it after its admission.
      if details.endsUnsaved, route?._withUnsafeGuaranteedRef({ $0.endGate != nil }) == true {
        details.withState { $0.hasPersistentStore = true }
      }
    }
    let counting = clearAllButRoute()
    details.clear()
    for release in releases { release() }
    for companion in companions { companion.ended(result, of: details) }
    return counting
  }

  /// Releases everything that the end no longer needs.
  ///
  /// The record may then be reused.
  func clear() {
    clearAllButRoute()?._withUnsafeGuaranteedRef { $0.end() }
  }

  /// Returns the route that counts the dispatch as outstanding, for the caller to end.
  private func clearAllButRoute() -> Unmanaged<Route>? {
    noteEnd()
    action = nil
    completion = nil
    (carried, session, sequence, outer) = (nil, nil, nil, nil)
    return route.take()
  }
}
