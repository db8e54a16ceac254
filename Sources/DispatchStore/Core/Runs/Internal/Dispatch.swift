import Synchronization

/// The record of one call of `dispatch`: one action, or several in sequence, on their way to a result.
///
/// A scheduler queues it and starts it. Mostly one step then takes its action through all stores
/// (`InlineRun`), and the record is used again if no handle refers to it. `DispatchDetails` come along where
/// other threads take part, and a `Round` where a store can't end at once.
///
/// A pending dispatch is 152 bytes. What is not atomic belongs to the step that runs.
@usableFromInline
final class Dispatch: DispatchContext, @unchecked Sendable {
  // because the scheduler hands it from step to step, and other threads see its details only
  private(set) var id = TransactionID(rawValue: 0)
  private var parentID = UInt64.max
  /// The next one in a lane's inbox, or among spare ones.
  @exclusivity(unchecked) var next: Unmanaged<Dispatch>?
  /// The stores; nil for a sequence.
  @exclusivity(unchecked) private(set) var route: Unmanaged<Route>?
  /// What it is queued at or runs at, which exists meanwhile; nil on the caller's thread.
  ///
  /// Atomic, since a stream's consumer that delivers a commit reads it, while a task that has made a record for that goes
  /// on in a round: both are schedulers, but not the same.
  private let schedulerBits = Atomic<UInt>(0)
  private(set) var callSite = CallSite(fileID: "", line: 0)
  /// While it is pending.
  @exclusivity(unchecked) private var action: (any ActionType)?
  @exclusivity(unchecked) private var completion: Completion?
  /// Whether it carries task-local values: does not change while another thread may refer to it.
  @exclusivity(unchecked) private(set) var isCarrying = false
  /// Whether it is of one action of a sequence; set before another thread knows it.
  @exclusivity(unchecked) var isStep = false
  @exclusivity(unchecked) private var stored = Attachment.none
  /// A `DispatchWord`.
  private let word = Atomic<UInt>(DispatchWord.waiting.bits)

  /// What it needs before it runs and while it runs.
  enum Attachment {
    case none
    /// While it is pending.
    case session(MiddlewareSession)
    /// While it runs on its caller's thread.
    case outer(DispatchContext)
    /// To its end, with that context where there is one.
    case sequence(DispatchSequence)
    /// To its end, with one of the others.
    case carrying(CapturedTaskLocal)
    /// Between two dispatches, and in the next one if it needs none: the sequence of the last one, to be used again.
    case spareSequence(DispatchSequence)
    /// Likewise, the task-local values that the last one carried, without these.
    case spareCarried(CapturedTaskLocal)
  }

  private var attachment: Attachment {
    get { if case .carrying(let carried) = stored { carried.attachment } else { stored } }
    set {
      if case .carrying(let carried) = stored {
        carried.attachment = newValue
      } else {
        stored = newValue
      }
    }
  }

  override init() {}

  // MARK: Before it runs

  /// Begins a new dispatch; the route counts it as outstanding.
  func begin(
    _ id: TransactionID, parent: TransactionID?, to route: Unmanaged<Route>?,
    _ completion: Completion?, _ callSite: CallSite
  ) {
    self.id = id
    parentID = parent?.rawValue ?? UInt64.max
    self.route = route
    self.completion = completion
    self.callSite = callSite
    isStep = false
    // Others may know it before it has a scheduler, and its last one may be gone.
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

  /// The scheduler will queue it.
  func enter(_ scheduler: Scheduler) {
    activeScheduler = Unmanaged.passUnretained(scheduler)
  }

  /// Another one will: a named lane that has retired since it was looked up.
  func move(to scheduler: Scheduler) {
    // Where something watches it there are details, and another thread may look at its scheduler.
    if let details {
      details.withState { _ in enter(scheduler) }
    } else {
      enter(scheduler)
    }
  }

  /// Keeps its action while it is pending; it has none.
  func put(_ action: __owned any ActionType) {
    // Without a look at what is there before, which would be released.
    withUnsafeMutablePointer(to: &self.action) { $0.initialize(to: action) }
  }

  var pendingAction: any ActionType { action.unsafelyUnwrapped }

  func takeAction() -> any ActionType {
    withUnsafeMutablePointer(to: &action) { pointer in
      // Moved, where reading and clearing it would copy it.
      let action = UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: (any ActionType).self)
        .move()
      pointer.initialize(to: nil)
      return action
    }
  }

  /// Keeps another route, which counts it as outstanding.
  func keep(_ route: Unmanaged<Route>) {
    self.route = route
  }

  func takeRoute() -> Unmanaged<Route>? { route.take() }

  /// Why its dispatcher, which is closed, refuses it.
  var refusalOfRoute: DispatchError? { route?._withUnsafeGuaranteedRef(\.refusal) }

  func keep(_ completion: Completion) {
    self.completion = completion
  }

  var hasCompletion: Bool { completion != nil }

  func takeCompletion() -> Completion? {
    completion.take()
  }

  /// Keeps the session until it runs.
  func keep(_ session: MiddlewareSession?) {
    attachment = session.map(Attachment.session) ?? .none
  }

  func takeSession() -> MiddlewareSession? {
    switch stored {
    case .session(let session):
      stored = .none
      return session
    case .carrying(let carried):
      guard case .session(let session) = carried.attachment else { return nil }
      carried.attachment = .none
      return session
    case .none, .outer, .sequence, .spareSequence, .spareCarried:
      return nil
    }
  }

  /// Its code runs on this thread now, inside another context.
  func keep(outer: DispatchContext?) {
    if let sequence {
      sequence.outer = outer
    } else {
      attachment = outer.map(Attachment.outer) ?? .none
    }
  }

  /// It is to run a sequence; before another thread knows it.
  func put(_ sequence: DispatchSequence) {
    attachment = .sequence(sequence)
  }

  /// The sequence of its last use, to be used again.
  func takeSpareSequence() -> DispatchSequence? {
    guard case .spareSequence = stored else { return nil }
    var former = Attachment.none
    swap(&stored, &former)
    guard case .spareSequence(let spare) = consume former else { return nil }
    return spare
  }

  /// Keeps its sequence, which has ended, for its next use, where nothing else refers to that.
  private func keepSpareSequence() {
    // Moved, where a copy of the reference would be counted.
    var former = Attachment.none
    swap(&stored, &former)
    guard case .sequence(var spare) = consume former, isUniquelyReferencedForReuse(&spare),
      hasNoWeakOrUnownedReferences(spare)
    else { return }
    spare.clear()
    stored = .spareSequence(spare)
  }

  /// What carried the task-local values of its last use, to be used again.
  func takeSpareCarried() -> CapturedTaskLocal? {
    guard case .spareCarried = stored else { return nil }
    var former = Attachment.none
    swap(&stored, &former)
    guard case .spareCarried(let spare) = consume former else { return nil }
    return spare
  }

  /// Keeps what it carried for its next use, without the values, where nothing else refers to it; the record has been
  /// cleared.
  @inline(never)
  func keepSpare(_ carried: consuming CapturedTaskLocal) {
    guard isUniquelyReferencedForReuse(&carried), hasNoWeakOrUnownedReferences(carried) else {
      return
    }
    carried.clear()
    stored = .spareCarried(carried)
  }

  /// It binds task-local values where it runs.
  func carry(_ values: CapturedTaskLocal?) {
    guard let values else { return }
    values.attachment = stored
    stored = .carrying(values)
    isCarrying = true
  }

  /// The task-local values that it binds where it runs.
  var carried: CapturedTaskLocal? {
    if isCarrying, case .carrying(let carried) = stored { carried } else { nil }
  }

  /// Calls a closure with these values bound.
  func bound<Result>(_ body: () -> Result) -> Result {
    if let carried { carried.bind(body) } else { body() }
  }

  /// The number of its dispatcher, for the thread that runs it; nil before and after.
  var dispatcherNumber: UInt64? {
    sequence?.dispatcher.number
      ?? route.map { $0._withUnsafeGuaranteedRef(\.dispatcher) }
  }

  /// Whether something comes before its stores; one that joins another has no route.
  var needsPreparation: Bool {
    route?._withUnsafeGuaranteedRef(\.needsPreparation) == true
  }

  /// Whether all of its stores only reduce; before it is scheduled.
  var onlyReduces: Bool {
    route?._withUnsafeGuaranteedRef { $0.reductionCount == $0.count } == true
  }

  /// Whether it has one store, which only reduces; before it is scheduled.
  var isReduction: Bool {
    route?._withUnsafeGuaranteedRef { $0.reductionCount == 1 && $0.count == 1 } == true
  }

  /// Whether it is of one action: it has a route.
  var isAction: Bool { route != nil }

  /// The sequence that it runs, until its end; nil for an action.
  var sequence: DispatchSequence? {
    if case .sequence(let sequence) = attachment { sequence } else { nil }
  }

  /// Runs on this thread only: no other one knows it.
  func beginHere(inside outer: DispatchContext?) {
    word.store(DispatchWord.running.bits, ordering: .relaxed)
    activeScheduler = nil
    stored = outer.map(Attachment.outer) ?? .none
  }

  /// Its scheduler starts it, and no other thread takes part; false where the details have the state.
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

  var parent: TransactionID? {
    parentID == UInt64.max ? nil : TransactionID(rawValue: parentID)
  }

  /// Whether it was dispatched from inside of another one.
  var hasParent: Bool { parentID != UInt64.max }

  /// Where its steps run, for the thread that runs or ends it.
  var scheduler: Scheduler { details?.scheduler ?? queuedAt }

  /// Whether that is suspended.
  var isSchedulerSuspended: Bool {
    if let scheduler = details?.scheduler { return scheduler.isSuspended }
    // Without a counted reference.
    return activeScheduler?._withUnsafeGuaranteedRef(\.isSuspended)
      ?? CallerThread.any.isSuspended
  }

  /// Where its steps run, for a thread that looks for who waits for whom: where the dispatch has ended meanwhile, its
  /// scheduler may be gone.
  var schedulerForWaits: Scheduler {
    makeDetails().withScheduler(queuedAt: { queuedAt }) { $1 } ?? CallerThread.any
  }

  /// What it is queued at; to be read while it needs that.
  var queuedAt: Scheduler {
    activeScheduler?.takeUnretainedValue() ?? CallerThread.any
  }

  /// Its place is skipped: the scheduler no longer has it.
  func leaveScheduler() {
    activeScheduler = nil
  }

  /// Whether it runs on its caller's thread.
  var isSynchronous: Bool { activeScheduler == nil }

  /// Whether it runs in its caller's task, where it has its turn or goes on in a round.
  ///
  /// Read under the details' lock: a thread that drains a lane reads it of what is next, which another may cancel.
  var isOfTask: Bool { withDetails(\.isOfTask) == true }

  /// Whether stores that do not wait for each other run beside each other.
  var runsConcurrently: Bool {
    activeScheduler?._withUnsafeGuaranteedRef(\.runsStoresConcurrently) == true
  }

  // MARK: Context

  override var dispatch: Dispatch { self }
  override var owner: StoreRun? { nil }

  override var outer: DispatchContext? {
    switch attachment {
    case .outer(let context): context
    case .sequence(let sequence): sequence.outer
    case .none, .session, .carrying, .spareSequence, .spareCarried: nil
    }
  }

  /// The context that waits for its end: its caller's, or the sequence's.
  var caller: DispatchContext? {
    guard let outer else { return nil }
    // Not of a completion at the deadline: the record belongs to the thread that still runs its stores.
    let waits = isStep && !outer.isEarly && outer.dispatch.id == parent
    return isSynchronous || isOfTask || waits ? outer : nil
  }

  // MARK: Details

  /// What other threads see of it; nil where none has taken part yet.
  var details: DispatchDetails? { presentWord.details?.takeUnretainedValue() }

  var hasDetails: Bool { presentWord.details != nil }

  /// Passes the details to a closure, without the reference that the record has; nil where there are none.
  @inline(__always)
  func withDetails<Result>(_ body: (DispatchDetails) -> Result) -> Result? {
    presentWord.details?._withUnsafeGuaranteedRef(body)
  }

  /// The details, made where there are none: the one transition that hands the state over to them.
  ///
  /// Any thread may do it that has a reference. The step that runs the dispatch finds the details before it
  /// can end.
  func makeDetails() -> DispatchDetails {
    var word = presentWord
    while true {
      if let present = word.details { return present.takeUnretainedValue() }
      let details = DispatchDetails.make(isRunning: word.isRunning)
      let made = Unmanaged.passRetained(details)
      let (isDone, present) = exchange(word, for: DispatchWord(made))
      if isDone { return details }
      made.release()
      word = present
    }
  }

  /// Whether it can be used again where it simply finishes and the caller has the only reference.
  var isReusable: Bool {
    withDetails { $0.isForgettable && hasNoWeakOrUnownedReferences(self) } ?? true
  }

  /// Keeps its details as spare ones; the caller has the only reference.
  func recycleRest(on thread: ThreadState) {
    guard let details = takeDetails() else { return }
    if details.hasFamily { details.recordIsGone() } else { thread.keepSpare(details) }
  }

  private func takeDetails() -> DispatchDetails? {
    let former = DispatchWord(
      bits: word.exchange(DispatchWord.running.bits, ordering: .acquiring))
    return former.details?.takeRetainedValue()
  }

  deinit {
    takeDetails()?.recordIsGone()
  }

  /// Keeps a dispatch that has ended as a spare one, with its details, where nothing else refers to it.
  static func recycle(_ dispatch: consuming Dispatch, on thread: ThreadState) {
    guard isUniquelyReferencedForReuse(&dispatch), hasNoWeakOrUnownedReferences(dispatch)
    else { return }
    dispatch.recycleRest(on: thread)
    thread.spareDispatches.push(dispatch)
  }

  // MARK: A time limit

  /// The last store has ended, and its `didDispatch` was not called: looks at the time, and from here on no deadline
  /// changes how the dispatch ends.
  ///
  /// Without effect from the second call on.
  func settleDeadline() {
    if isStep {
      if whole !== self, whole.sequence?.isAtLastAction == true { whole.settleDeadline() }
    } else if let details, details.callsAtStoresEnd {
      details.settleDeadline(at: callSite)
    }
  }

  /// The stores of its inline run have ended: from here on no deadline changes how it ends.
  @inline(__always)
  func storesEnded() {
    if hasDetails { endStores() }
  }

  @inline(never)
  private func endStores() {
    yieldPoint(.endWork, id.description)
    guard let details, details.callsAtStoresEnd, !isPlanted(.lostDeadline) else { return }
    details.settleDeadline(at: callSite)
    details.beginEnding()
    details.storesEnded()
  }

  // MARK: The end

  /// Before its end; without details, whether another thread could see that depends on when the compiler releases a
  /// handle.
  func yieldBeforeEnd() {
    if hasDetails { yieldPoint(.notifyWaiters, id.description) }
  }

  /// Ends it; all that only the way to the end needed is released before waiting threads and tasks resume,
  /// since a handle may be kept for long.
  func end(_ result: DispatchResult) {
    let details = makeDetails()
    release(details)
    details.end(result)
  }

  /// In a function of its own, so that nothing refers any longer to what was released when the result is there.
  private func release(_ details: DispatchDetails) {
    details.beginEnding()
    let releases = details.withState { $0.takeReleases() }
    clear()
    details.clear()
    for release in releases { release() }
  }

  /// Releases what only the way to the end needed; the record may then be used again.
  func clear(keepingSequence: Bool = false) {
    noteEnd()
    action = nil
    completion = nil
    if route == nil { sequence?.endAcceptance() }
    isCarrying = false
    if keepingSequence { keepSpareSequence() } else { stored = .none }
    route.take()?._withUnsafeGuaranteedRef { $0.end() }
  }
}

// What other threads call.
extension Dispatch {
  var hasEnded: Bool { withDetails { $0.hasEnded.load(ordering: .acquiring) } ?? false }

  var result: DispatchResult? { hasEnded ? details?.withState(\.result) : nil }

  var isCancelled: Bool { withDetails { $0.withState(\.isCancelled) } ?? false }

  /// Whether commits of the inline run's present store are not delivered.
  var hasUndeliveredCommits: Bool { withDetails(\.hasUndeliveredCommits) ?? false }

  /// Why it was cancelled, where it would have waited for ever, or its time has passed.
  var refusal: DispatchError? { details?.withState(\.refusal) }

  /// The dispatches before it, while it waits for them.
  var dispatchesBefore: [Dispatch] { details?.withState(\.before) ?? [] }

  /// The same, and whether it has to pass a gate after that.
  var obstacles: (before: [Dispatch], isGated: Bool) {
    details?.withState { ($0.before, $0.isGated) } ?? ([], false)
  }

  /// Whether it waits for other dispatches.
  var isHeldBack: Bool { !dispatchesBefore.isEmpty }

  /// Whether it is a sequence without actions.
  var isEmpty: Bool { sequence?.isEmpty ?? false }

  /// Whether it runs, or waits for its turn: it still needs its scheduler.
  var needsScheduler: Bool { details?.withState(\.needsScheduler) ?? true }

  /// Whether a `.sync` caller need not stay: only notifiers have to deliver what was deferred.
  var onlyDeliveryIsLeft: Bool { details?.withState(\.work).onlyDeliveryIsLeft ?? false }

  /// Whether only one store's part of a round is under way.
  var isAlone: Bool { details?.withState(\.work).isAlone ?? false }

  /// Whether its stores have ended, which may be after the end at its deadline.
  var isOver: Bool { details?.withState(\.isOver) ?? false }

  /// Calls a closure once its stores have ended, before its result is there; at once where they have ended.
  ///
  /// Whoever has the result finds released what the closure releases.
  func beforeResult(_ release: @escaping @Sendable () -> Void) {
    if !makeDetails().withState({ $0.keepRelease(release) }) { release() }
  }

  /// Calls back once its stores have ended, and nothing of it runs any longer: at once where they have.
  func whenOver(_ waiter: @escaping @Sendable () -> Void) {
    if !makeDetails().withState({ $0.waitUntilOver(waiter) }) { waiter() }
  }

  /// Calls back once the dispatch has ended: at once where it has, else on the thread that ends it.
  func whenEnded(_ waiter: @escaping @Sendable () -> Void) {
    if details != nil { yieldPoint(.await, id.description) }
    let details = makeDetails()
    if isPlanted(.forgottenWaiter) { return forgetWaiter(waiter) }
    if !details.withState({ $0.wait(waiter) }) { waiter() }
  }
}

// On whose behalf the store is changed whose part runs inline.
extension Dispatch: CommitOwner {
  @usableFromInline
  var transaction: TransactionID { id }

  @usableFromInline
  func action<Model, Action>(in store: Store<Model, Action>) -> Action? {
    guard let run = ThreadState.current.run, run.pointee.isOf(self) else { return nil }
    return run.pointee.action(in: store)
  }

  @usableFromInline
  var waiting: Dispatch? { self }

  @usableFromInline
  var undeliveredCount: Int { details?.undeliveredCount ?? 0 }

  @usableFromInline
  func commitDeferred() {
    makeDetails().commitDeferred()
  }

  @usableFromInline
  func commitDelivered() {
    details?.commitDelivered()
  }
}
