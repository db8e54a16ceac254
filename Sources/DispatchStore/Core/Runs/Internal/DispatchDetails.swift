import Synchronization

/// The part of a dispatch that exists once several threads take part.
///
/// Holds its state behind a lock, and data of rounds, sequences and waits.
final class DispatchDetails: @unchecked Sendable {
  // because data that is neither constant nor behind the lock belongs to the step that runs
  private let state: Locked<DispatchState>
  /// Whether the state has a result: read without the lock, which the end itself needs.
  let hasEnded = Atomic(false)
  /// Whether a commit is not saved, since its store was replaced.
  private let hasLoss = Atomic(false)
  /// Readable without the lock, so that other dispatches with details need not acquire it.
  private let hasCallsAtStoresEnd = Atomic(false)
  /// Whether anything besides its handle and its own task can cancel this dispatch.
  ///
  /// Set before the dispatch is shared.
  var isCancellable = false
  /// Whether the dispatch joins no block; set before the dispatch is shared.
  var isDetached = false
  /// Whether all stores change or none; set before the dispatch is shared.
  var isAtomic = false
  /// The priority on the concurrent queue or in a lane; nil for the normal one.
  ///
  /// Set before the dispatch is shared.
  var priority: PriorityInbox.Level?
  /// Whether the dispatch joins another one, and so has no turn of its own; set before it is shared.
  var isJoining = false
  /// Whether the end does not wait until its commits are saved; set before the dispatch is shared.
  var endsUnsaved = false
  /// Whether a gate may reject it instead of holding it back; set before the dispatch is shared.
  var mayBeRejected = true
  /// The retry of failed stores, until the end; set before the dispatch is shared.
  var retry: StoreRetry?
  /// The rows that are saved with its last commit; set before the dispatch is shared.
  var companions: [DispatchCompanion] = []
  /// Whether the record of the dispatch is gone, and so are all handles.
  let hasNoRecord = Atomic(false)
  /// For the rounds of the dispatch, until the end.
  var dispatcher: Dispatcher?
  /// The wait graph's edges from this running dispatch, and whether a search has reached it.
  ///
  /// The graph's lock guards them.
  var waits: [Int: WaitGraph.Edge] = [:]
  var isReached = false
  /// Whether the sending block awaits this dispatch.
  ///
  /// The wait graph's lock guards it.
  var isAwaited = false

  init(isRunning: Bool) {
    state = Locked(making: { DispatchState(isRunning: isRunning) })
  }

  /// Whether the details hold nothing that concerns the end.
  var isForgettable: Bool { companions.isEmpty && state.withLock(\.isForgettable) }

  func withState<Result>(_ body: (inout DispatchState) -> Result) -> Result {
    state.withLock(body)
  }

  /// Whether its steps run in its caller's task.
  var isOfTask: Bool { state.withLock { $0.scheduler?.isTask == true } }

  var scheduler: Scheduler? {
    get { state.withLock { $0.scheduler } }
    set { state.withLock { $0.scheduler = newValue } }
  }

  /// Makes a transition that may start the dispatch; releases what it has waited for outside of the lock.
  func tryStart(
    _ transition: (inout DispatchState) -> DispatchState.Start
  ) -> DispatchState.Start {
    let (start, released) = withState { (transition(&$0), $0.takeWaitedFor()) }
    withExtendedLifetime(released) {}
    return start
  }

  // MARK: Commits that are not saved

  var hasLostCommit: Bool { hasLoss.load(ordering: .acquiring) }

  /// Notes that a commit is not saved; called in its exclusive section, or for a sequence, once the step has ended.
  func noteLoss() { hasLoss.store(true, ordering: .releasing) }

  // MARK: Replies

  var replies: [String: any Sendable] { state.withLock { $0.replies } }

  func keep(_ reply: any Sendable, of storeIdentifier: String) {
    // A former reply is released outside of the lock.
    state.withLockReleasing { $0.replies.updateValue(reply, forKey: storeIdentifier) }
  }

  /// Removes the reply of an attempt that another one follows.
  func removeReply(of storeIdentifier: String) {
    state.withLockReleasing { $0.replies.removeValue(forKey: storeIdentifier) }
  }

  /// Ends the wait for saving of a dispatch that had timed out before; returns false if another thread has ended it.
  ///
  /// Removes the replies, which a crash could undo.
  func endUnsaved() -> Bool {
    var replies: [String: any Sendable] = [:]
    return withState { state in
      guard state.endSaving(nil) else { return false }
      swap(&replies, &state.replies)
      return true
    }
  }

  // MARK: The end of its stores

  /// Calls a closure once all of its stores have ended, before the completion, on the same thread.
  ///
  /// Call it before they can begin, or while a store runs. You may hold that store's lock.
  func atStoresEnd(_ body: @escaping @Sendable () -> Void) {
    _ = withState { $0.keep(body, until: .storesEnd) }
    hasCallsAtStoresEnd.store(true, ordering: .releasing)
  }

  /// Whether closures are to be called at the end of its stores, or the dispatch has a time limit or a gate.
  var callsAtStoresEnd: Bool { hasCallsAtStoresEnd.load(ordering: .acquiring) }

  /// Calls the closures for the end of the stores.
  ///
  /// Called in the dispatch's context, on the thread that is about to run the completion.
  func storesEnded() {
    guard callsAtStoresEnd else { return }
    hasCallsAtStoresEnd.store(false, ordering: .relaxed)
    for body in withState({ $0.take(.storesEnd) }) { body() }
  }

  // MARK: Time limits

  /// Sets the limit before the dispatch is scheduled.
  func put(_ limit: TimeLimit) {
    withState { $0.limit = limit }
    hasCallsAtStoresEnd.store(true, ordering: .releasing)
  }

  /// Sets the gate before the dispatch is scheduled.
  func wait(at gate: StartGate) {
    withState { $0.wait(at: gate, isTold: true) }
    hasCallsAtStoresEnd.store(true, ordering: .releasing)
  }

  /// Starts the timer of the limit, if there is one and the dispatch needs it, once the dispatch is shared.
  func startTimer(
    if isNeeded: (inout DispatchState) -> Bool, _ fire: @escaping @Sendable () -> Void
  ) {
    let timing = withState { isNeeded(&$0) ? $0.limit?.timing : nil }
    guard let (dispatcher, deadline) = timing else { return }
    let timer = dispatcher.timers.add(at: deadline.time, fire)
    // The dispatch may have ended meanwhile, or be about to.
    if !withState({ $0.keep(timer) }) { dispatcher.timers.remove(timer) }
  }

  /// Whether its result may come at a deadline, before the end of its stores.
  var mayEndEarly: Bool { callsAtStoresEnd && withState { $0.limit?.endsEarly == true } }

  /// Notes that a store of an inline run starts; returns false if the dispatch has ended at its deadline.
  func claimStoreStart() -> Bool { !callsAtStoresEnd || withState { $0.claimStoreStart() } }

  /// Returns the result of a dispatch that ends at its deadline.
  ///
  /// - Parameters:
  ///   - work: The work at the deadline, which may have ended since.
  ///   - round: The round of that work, if it had one.
  func earlyResult(of id: DispatchID, _ work: DispatchWork, _ round: Round?) -> DispatchResult? {
    var hasBegun = false
    switch work {
    case .none: break
    case .round(let round): return round.earlyResult
    case .step(let step):
      // An action that runs inline has just become due, or has begun.
      hasBegun = step.result?.hasStarted ?? round?.earlyResult.hasStarted ?? true
    }
    return withState {
      $0.limit?.early?.result(of: id, replies: $0.replies, stepHasBegun: hasBegun, $0.refusal)
    }
  }

  /// Decides whether the dispatch has timed out, after its last store has ended.
  ///
  /// No deadline changes that decision.
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
    let (timer, released) = withState { state in
      (state.beginEnding().map { ($0, state.limit?.dispatcher) }, state.takeWaitedFor())
    }
    withExtendedLifetime(released) {}
    if let (timer, dispatcher) = timer { dispatcher?.timers.remove(timer) }
  }

  /// Ends the dispatch at its deadline, and resumes its waiters.
  func endEarly(_ result: DispatchResult) {
    resume(
      withState { state in
        hasEnded.store(true, ordering: .releasing)
        return state.endEarly(result)
      })
  }

  // MARK: Dispatches of its blocks

  /// Returns the state that a new dispatch inherits from the dispatch of its block.
  func inheritance() -> Inheritance { withState { $0.isOver ? Inheritance() : $0.inheritance } }

  /// The deadline that dispatches of its blocks inherit: its own, or the one of its enclosing block.
  var inheritedDeadline: InheritedDeadline? {
    withState { $0.isOver ? nil : $0.limit?.inherited ?? $0.linkedDeadline }
  }

  var hasFamily: Bool { withState { $0.family != nil } }

  /// Accesses the state without waiting for the lock; returns nil if the lock is not free.
  func withStateIfFree<Result>(_ body: (inout DispatchState) -> Result) -> Result? {
    state.withLockIfFree(body)
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

  /// Begins work besides the inline run.
  ///
  /// Returns whether its stores are to be cancelled first.
  ///
  /// - Parameter successor: The store run that takes over the deferred commits of the inline run's current store.
  func begin(_ work: DispatchWork, _ successor: StoreRun?) -> Bool {
    state.withLock { state in
      for _ in 0..<state.undelivered { successor?.commitDeferred() }
      state.undelivered = 0
      state.successor = successor
      return state.begin(work) && !isPlanted(.lostCancellation)
    }
  }

  // MARK: The end

  /// Releases everything that the end no longer needs, so that chains of handles and closures end here.
  func clear() {
    dispatcher = nil
    retry = nil
    state.withLockReleasing { state in
      state.successor = nil
      return state.limit?.dispatcher.take()
    }
  }

  /// Ends the dispatch, and resumes its waiters.
  ///
  /// Whoever has drained the dispatcher finds the result. A waiter that this resumes finds the dispatcher drained, and
  /// the stores released that this dispatch was the last to use.
  ///
  /// - Parameter route: The route that counts it as outstanding; nil if none does.
  func end(_ result: DispatchResult, along route: Unmanaged<Route>? = nil) {
    // Nobody else uses the route then, so its stores can go before the result is seen.
    var generation =
      route?._withUnsafeGuaranteedRef(\.isLastUse) == true ? route?.releaseAlone() : nil
    let (waiters, isInFamily, isLast) = publish(result, counting: generation == nil ? route : nil)
    if isLast { generation = route?.releaseAlone() }
    generation?.release()
    if isInFamily { leaveFamily() }
    resume(waiters)
  }

  /// Publishes the result and counts the end, in one critical section.
  private func publish(
    _ result: DispatchResult, counting route: Unmanaged<Route>?
  ) -> (waiters: [@Sendable () -> Void], isInFamily: Bool, isLast: Bool) {
    // Set under the lock: a thread that sees the end under the lock sees the result, too.
    state.withLock { state in
      let waiters = state.end(result)
      if state.result != nil { hasEnded.store(true, ordering: .releasing) }
      // Counted last: a thread that finds no dispatch outstanding finds the result.
      let isLast = route?._withUnsafeGuaranteedRef { $0.countEnd() } == true
      return (waiters, state.family != nil, isLast)
    }
  }

  /// Adds a closure for the end; returns whether it will be called: false if the dispatch has ended.
  func wait(_ waiter: Waiter) -> Bool {
    var idle: [Waiter] = []
    return withState { $0.wait(waiter, removing: &idle) }
  }

  func resume(_ waiters: [@Sendable () -> Void]) {
    guard !waiters.isEmpty else { return }
    ThreadState.current.fields.pointee.hasResumedOthers = true
    for waiter in waiters { waiter() }
  }
}
