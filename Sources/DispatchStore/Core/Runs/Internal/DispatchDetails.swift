import Synchronization

/// What a dispatch has once several threads take part in it: its state behind a lock, and what only rounds,
/// sequences and waits need.
final class DispatchDetails: @unchecked Sendable {
  // because what is not constant or behind the lock belongs to the step that runs
  private let state: Locked<Guarded>
  /// Whether the state has a result: read without the lock, which the end itself needs.
  let hasEnded = Atomic(false)
  /// Read without the lock, which others that have details need not take.
  private let hasCallsAtStoresEnd = Atomic(false)
  /// Whether others may cancel it than its handle and its task; set before they know it.
  var isControlled = false
  /// Whether it joins no block; set with that.
  var isDetached = false
  /// With which priority it waits for the concurrent queue, or in its lane, where that is another one than the normal;
  /// set with these.
  var priority: PriorityInbox.Level?
  /// Whether others know it before its scheduler has it; set before they do.
  var isKnown = false
  /// Whether it joins another one, and so has no turn of its own; set before others know it.
  var isJoining = false
  /// Whether stores run again that have failed; set before others know it, until the end.
  var retry: StoreRetry?
  /// Whether the record of the dispatch is gone, and with that all handles.
  let hasNoRecord = Atomic(false)
  /// For the rounds of the dispatch, until the end.
  var dispatcher: Dispatcher?
  /// Guarded by the wait graph: what this one waits for while it runs, and whether a search has reached it.
  var waits: [Int: WaitGraph.Edge] = [:]
  var isReached = false
  /// Likewise: whether its caller's block awaits it, which sent it.
  var isAwaited = false

  private struct Guarded {
    var life: DispatchState
    /// Where steps run, of a dispatch that has several: kept, since operations report on any thread.
    var scheduler: Scheduler?
    /// Commits of the inline run's present store that were deferred.
    var undelivered = 0
    /// What stores have replied, by their identifiers.
    var replies: [String: any Sendable] = [:]
    /// What is called once its stores have ended, before the completion.
    var atStoresEnd: [@Sendable () -> Void] = []
    /// What it is linked with.
    var family: DispatchFamily?
    /// Of one that has no limit of its own, that of the block that it runs in.
    var linkedDeadline: Int64?
    /// The store run to which the inline run's present store has been passed.
    var successor: StoreRun?

    /// Whether nothing was set but its phase, its scheduler, its limit, and what needs no release.
    var isPlain: Bool {
      life.isUndisturbed && replies.isEmpty && atStoresEnd.isEmpty && family == nil
        && successor == nil
    }
  }

  private init(isRunning: Bool) {
    state = Locked(making: { Guarded(life: DispatchState(isRunning: isRunning)) })
  }

  /// Makes them, or uses this thread's spare ones.
  static func make(isRunning: Bool) -> DispatchDetails {
    guard let spare = ThreadState.current.takeSpareDetails() else {
      return DispatchDetails(isRunning: isRunning)
    }
    if isRunning { spare.state.withOnlyReference { $0.life = DispatchState(isRunning: true) } }
    return spare
  }

  /// Whether there is nothing in them that concerns the end.
  ///
  /// Not if the dispatch runs in a task: a search may find it through its lane, which has it until after its end.
  var isForgettable: Bool {
    state.withLock { state in
      state.life.isUndisturbed && state.replies.isEmpty
        && state.family.map { $0.children.isEmpty && $0.waiters.isEmpty } != false
        && state.scheduler?.isTask != true
    }
  }

  /// Makes them as they were at first; false where they have had links: another thread may still look at these.
  func reset() -> Bool {
    guard resetPlain() || resetAll() else { return false }
    hasEnded.store(false, ordering: .relaxed)
    if !waits.isEmpty { waits = [:] }
    (isReached, isAwaited, isControlled, isDetached) = (false, false, false, false)
    (isKnown, isJoining, priority) = (false, false, nil)
    if dispatcher != nil { dispatcher = nil }
    if retry != nil { retry = nil }
    return true
  }

  /// The same for a state in which little was set; false, and nothing done, for another one.
  private func resetPlain() -> Bool {
    // Released outside of the lock.
    var (former, limit): (Scheduler?, TimeLimit?) = (nil, nil)
    defer { withExtendedLifetime((former, limit)) {} }
    if isPlanted(.keptReplies) { return false }
    return state.withLock { state in
      guard state.isPlain else { return false }
      limit = state.life.reset()
      swap(&state.scheduler, &former)
      (state.undelivered, state.linkedDeadline) = (0, nil)
      return true
    }
  }

  private func resetAll() -> Bool {
    var fresh = Guarded(life: DispatchState(isRunning: false))
    if isPlanted(.keptReplies) { fresh.replies = replies }
    // The former one is released outside of the lock.
    return state.withLock { state in
      guard state.family == nil else { return false }
      swap(&state, &fresh)
      return true
    }
  }

  func withState<Result>(_ body: (inout DispatchState) -> Result) -> Result {
    state.withLock { body(&$0.life) }
  }

  /// Whether its steps run in its caller's task.
  var isOfTask: Bool { state.withLock { $0.scheduler?.isTask == true } }

  var scheduler: Scheduler? {
    get { state.withLock { $0.scheduler } }
    set { state.withLock { $0.scheduler = newValue } }
  }

  /// Makes a transition; with the scheduler, if the dispatch needs it, which it may leave from then on.
  ///
  /// - Parameter queued: The scheduler that it is queued at, which exists as long as the dispatch needs it.
  func withScheduler<Result>(
    queuedAt queued: () -> Scheduler, _ body: (inout DispatchState, Scheduler?) -> Result
  ) -> Result {
    state.withLock { state in
      let needed = state.life.needsScheduler ? state.scheduler ?? queued() : nil
      return body(&state.life, needed)
    }
  }

  // MARK: Replies

  var replies: [String: any Sendable] { state.withLock { $0.replies } }

  var repliesAndRefusal: (replies: [String: any Sendable], refusal: DispatchError?) {
    state.withLock { ($0.replies, $0.life.refusal) }
  }

  func keep(_ reply: any Sendable, of storeIdentifier: String) {
    // A former reply is released outside of the lock.
    let former = state.withLock { $0.replies.updateValue(reply, forKey: storeIdentifier) }
    withExtendedLifetime(former) {}
  }

  // MARK: The end of its stores

  /// Calls a closure once all of its stores have ended, before the completion, on that thread.
  ///
  /// To be called while one of them runs, also under that one's lock.
  func atStoresEnd(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.atStoresEnd.append(body) }
    hasCallsAtStoresEnd.store(true, ordering: .releasing)
  }

  /// Whether closures are to be called at the end of its stores, or it has a time limit.
  var callsAtStoresEnd: Bool { hasCallsAtStoresEnd.load(ordering: .acquiring) }

  /// The thread that is about to run the completion calls these closures, in the dispatch's context.
  func storesEnded() {
    guard callsAtStoresEnd else { return }
    hasCallsAtStoresEnd.store(false, ordering: .relaxed)
    let bodies = state.withLock { state in
      defer { state.atStoresEnd = [] }
      return state.atStoresEnd
    }
    for body in bodies { body() }
  }

  // MARK: Time limits

  /// Before it is scheduled.
  func put(_ limit: TimeLimit) {
    withState { $0.put(limit) }
    hasCallsAtStoresEnd.store(true, ordering: .releasing)
  }

  /// Others know it: from now on its limit, if it has one, ends what the target stands for.
  ///
  /// - Parameter startsHere: Whether this thread is about to run it, if nothing holds it back.
  func startTimer(for target: any TimerTarget, startsHere: Bool = false) {
    let limit = withState { state in
      state.needsTimer(startsHere: startsHere) ? state.limit?.timing : nil
    }
    guard let (dispatcher, deadline) = limit else { return }
    let timer = dispatcher.timers.add(target, at: deadline.time)
    // It may be about to end by now, or have ended.
    if !withState({ $0.keep(timer) }) { dispatcher.timers.remove(timer) }
  }

  /// A store of an inline run starts; false where the dispatch has timed out.
  func noteStart(at index: Int, of identifiers: [String]) -> Bool {
    guard callsAtStoresEnd else { return true }
    return withState { $0.noteStart(at: index, of: identifiers) }
  }

  /// A store of an inline run has ended.
  func note(_ outcome: StoreOutcome, at index: Int, of identifiers: [String]) {
    guard callsAtStoresEnd else { return }
    withState { $0.notes?.note(outcome, at: index, of: identifiers) }
  }

  /// It is to run a sequence; whether that is to note its steps.
  func begin(sequenceOf actionCount: Int) -> Bool {
    withState { state in
      state.notes?.actionCount = actionCount
      return state.limit?.endsEarly == true
    }
  }

  /// An action of a sequence has ended.
  func note(_ step: DispatchResult) {
    withState { $0.notes?.note(step) }
  }

  /// How a dispatch ends at its deadline.
  func earlyResult(of id: TransactionID) -> DispatchResult? {
    let (work, error) = withState { ($0.work, $0.refusal) }
    if case .round(let round) = work { return round.result }
    return withState { $0.limit?.early?.result(of: id, error) }
  }

  /// Decides, when the last store has ended, whether the dispatch has timed out; no deadline changes that any longer.
  func settleDeadline(at callSite: CallSite) {
    if isPlanted(.lostDeadline) { return }
    let limit = withState { $0.isUnsettled ? $0.limit?.timing : nil }
    guard let (dispatcher, deadline) = limit else { return }
    let isLate = deadline.time <= dispatcher.clock.nanoseconds && !isPlanted(.unreadClock)
    let error = isLate ? DispatchError.timedOut(callSite, after: deadline.duration) : nil
    if let timer = withState({ $0.settle(error) }) { dispatcher.timers.remove(timer) }
  }

  /// Notes that the completion is about to run.
  func beginEnding() {
    let timer = withState { state in
      state.beginEnding().map { ($0, state.limit?.dispatcher) }
    }
    if let (timer, dispatcher) = timer { dispatcher?.timers.remove(timer) }
  }

  /// It ends at its deadline; resumes those that wait for that.
  func endEarly(_ result: DispatchResult) {
    resume(
      withState { state in
        hasEnded.store(true, ordering: .releasing)
        return state.endEarly(result)
      })
  }

  // MARK: What its blocks dispatch

  /// What a block dispatches, now, has from the dispatch of that block.
  func inheritance() -> Inheritance {
    withState { state in
      if state.isOver { return Inheritance() }
      return Inheritance(isCancelled: state.isCancelled, hasTimedOut: state.refusal != nil)
    }
  }

  /// The deadline of what a block of it dispatches: its own, or that of the block that it runs in.
  var inheritedDeadline: Int64? {
    state.withLock { state in
      if state.life.isOver { return nil }
      return state.life.limit?.deadline.time ?? state.linkedDeadline
    }
  }

  /// That of the block that it runs in, on the caller's thread or in its task.
  var linkedDeadline: Int64? {
    get { state.withLock { $0.linkedDeadline } }
    set { state.withLock { $0.linkedDeadline = newValue } }
  }

  func withFamily<Result>(
    _ body: (inout DispatchFamily?, inout DispatchState) -> Result
  ) -> Result {
    state.withLock { body(&$0.family, &$0.life) }
  }

  var hasFamily: Bool { withFamily { family, _ in family != nil } }

  /// The same without waiting for the lock; nil where that is not free.
  func withFamilyIfFree<Result>(
    _ body: (inout DispatchFamily?, inout DispatchState) -> Result
  ) -> Result? {
    state.withLockIfFree { body(&$0.family, &$0.life) }
  }

  // MARK: Deferred commits

  var undeliveredCount: Int {
    state.withLock { $0.successor?.undeliveredCount ?? $0.undelivered }
  }

  var hasUndeliveredCommits: Bool { state.withLock { $0.undelivered > 0 } }

  func commitDeferred() {
    state.withLock { state in
      if let successor = state.successor {
        successor.commitDeferred()
      } else {
        state.undelivered += 1
      }
    }
  }

  func commitDelivered() {
    let successor = state.withLock { state in
      if state.successor == nil { state.undelivered -= 1 }
      return state.successor
    }
    successor?.commitDelivered()
  }

  /// Stores are under way beside an inline run; whether they are to be cancelled first.
  ///
  /// - Parameter successor: The store run that takes over the deferred commits of the inline run's present store.
  func begin(_ work: DispatchWork, _ successor: StoreRun?) -> Bool {
    state.withLock { state in
      for _ in 0..<state.undelivered { successor?.commitDeferred() }
      state.undelivered = 0
      state.successor = successor
      return state.life.begin(work) && !isPlanted(.lostCancellation)
    }
  }

  /// They have ended.
  func endWork() {
    let former = state.withLock { state in
      state.life.endWork()
      return state.successor.take()
    }
    withExtendedLifetime(former) {}
  }

  // MARK: The end

  /// Releases what only the way to the end needed: chains of handles and closures end here.
  func clear() {
    dispatcher = nil
    retry = nil
    let former = state.withLock { state in
      state.successor = nil
      return state.life.takeDispatcher()
    }
    withExtendedLifetime(former) {}
  }

  /// Resumes those that wait for the end.
  func end(_ result: DispatchResult) {
    // Under the lock: a thread that finds there that the dispatch has ended finds the result, too.
    let (waiters, family) = state.withLock { state in
      let waiters = state.life.end(result)
      if state.life.result != nil { hasEnded.store(true, ordering: .releasing) }
      return (waiters, state.family)
    }
    if family != nil { leaveFamily() }
    resume(waiters)
  }

  func resume(_ waiters: [@Sendable () -> Void]) {
    guard !waiters.isEmpty else { return }
    ThreadState.current.hasResumedOthers = true
    for waiter in waiters { waiter() }
  }
}
