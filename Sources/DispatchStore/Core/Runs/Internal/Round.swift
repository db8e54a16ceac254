/// The progress of one action through stores that don't all finish at once.
///
/// A round continues when an inline run has stopped. Its steps run at the dispatch's scheduler. Operations and stores
/// report to it on any thread, and it turns reports into steps. Each step returns whether it has closed the round.
final class Round: @unchecked Sendable {
  // because `atomic` belongs to the leader's step until other steps follow
  let dispatch: Dispatch
  /// The scheduler of its steps.
  let scheduler: Scheduler
  let session: MiddlewareSession?
  let route: Route
  /// The action as dispatched.
  let action: any ActionType
  /// The retry of failed stores, if any.
  let retry: StoreRetry?
  /// Whether stores that do not wait for each other run concurrently.
  private let runsConcurrently: Bool
  /// Whether all stores change, or none.
  ///
  /// Then the round has one store alone, the leader: its run takes the action through all stores, and owns their
  /// commits. The others end with it.
  let isAtomic: Bool
  /// The attempt of an atomic action.
  var atomic = AtomicAttempt()
  /// The number of the last commit before the first store started, if the dispatch waits at a gate.
  let commitNumber: UInt64
  let state: Locked<RoundState>
  /// State for a gate at the end; nil for most.
  let gated: Locked<Gated>?

  /// - Parameters:
  ///   - finished: The number of stores that have finished in the inline run, which are the first ones.
  ///   - begun: The store index that has begun there.
  init(
    of dispatch: Dispatch, at scheduler: Scheduler, _ action: any ActionType, to route: Route,
    _ session: MiddlewareSession?, finished: Int, begun: Int?
  ) {
    isAtomic = dispatch.isAtomic(along: route)
    self.dispatch = dispatch
    self.scheduler = scheduler
    self.session = session
    self.route = route
    self.action = action
    retry = dispatch.details?.retry
    runsConcurrently = dispatch.runsConcurrently && !isAtomic
    commitNumber = route.endGate?.commitNumber ?? 0
    gated = route.endGate == nil ? nil : Locked(Gated())
    let graph = isAtomic ? route.graph.ofFirst : route.graph
    state = Locked(RoundState(graph, finished: finished, begun: begun))
  }

  /// Makes the run of a store.
  func storeRun(at index: Int, again repeated: StoreRun.Repeated? = nil) -> StoreRun {
    let repeated = repeated ?? atomic.repeated?[index]
    let reply = repeated.map(\.reply) ?? session?.reply(at: index)
    return StoreRun(route.entries[index], at: index, reply, in: self, again: repeated)
  }

  /// Whether a store's reducer was called, so that the dispatch may have read or changed something.
  var hasStarted: Bool { state.withLock(\.hasStarted) }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }
  var operations: [any StoreOperation] { state.withLock(\.operations) }
  var onlyDeliveryIsLeft: Bool { state.withLock { $0.onlyDeliveryIsLeft } }

  var result: DispatchResult { result(isEarly: false) }

  /// The result of a dispatch that ends before its stores: without replies if a crash could undo them.
  var earlyResult: DispatchResult { result(isEarly: true) }

  private func result(isEarly: Bool) -> DispatchResult {
    let (own, attempts, hasBegun) = state.withLock { state in
      let outcomes = state.outcomes
      return (outcomes, state.attemptCounts, state.hasBegun(outcomes))
    }
    var (outcomes, isUndone) = (own, false)
    if isAtomic, let leading = own.first {
      // An atomic action that has failed was undone. At the deadline, it may have failed because of any of its stores.
      isUndone = !isEarly || leading.isFailed
      let early: StoreOutcome = isUndone ? .cancelled(hasStarted: true) : leading
      outcomes = route.entries.indices.map { index in
        isEarly ? early : index == 0 ? leading : atomic.outcome?[index] ?? leading
      }
    }
    let (replies, refusal) = dispatch.makeDetails().withState { ($0.replies, $0.refusal) }
    return DispatchResult(
      dispatchID: dispatch.id, identifiers: route.identifiers, outcomes: outcomes,
      replies: isEarly && endGate != nil ? [:] : replies,
      attempts: !isAtomic
        ? attempts : attempts.map { Array(repeating: $0[0], count: route.count) },
      hasBegun: hasBegun && !isUndone,
      // The timeout, if the deadline has passed.
      error: refusal ?? atomic.outcome?.error)
  }

  /// Whether only one store is running.
  var isAlone: Bool { route.count == 1 || state.withLock(\.isAlone) }

  // MARK: Steps

  /// Continues with the store that has begun, and with all that may start.
  ///
  /// - Parameter begun: The run of the store that has begun, if one has.
  func begin(after remainder: InlineRemainder, _ begun: StoreRun?) -> Bool {
    let others = state.withLock { $0.first }
    if let gate = route.endGate, !isCancelled, holdBack(at: gate, others) { return false }
    guard let step = remainder.begun, let begun else { return start(others) }
    begun.startedAt = remainder.startedAt
    let outcome = step.outcome ?? dispatch.perform(begun) { begun.goOn(after: step) }
    let (next, isClosed) = follow(
      begun, state.withLock { $0.entries[begun.index].startReturned(outcome) })
    return isClosed || start(next.isEmpty ? others : (others + next).sorted())
  }

  /// The present time, if a hook gets it.
  var now: Int64? { session?.now }

  /// Starts stores that may start, concurrently if the scheduler does that.
  ///
  /// - Parameter unparked: A store that was parked. It waits only once, even if further changes have been deferred
  ///   since.
  func start(_ indices: [Int], unparked: Int? = nil) -> Bool {
    let isConcurrent = runsConcurrently && !isCancelled
    // Indices are in the order of the hook calls, and so is the execution of stores that are not concurrent.
    var ready = MinimumHeap<Int>([])
    // A concurrent store that may block, which this step runs last. Others get steps of their own; those that may not
    // block delay each other by less than that.
    var blocking: Int?
    func add(_ indices: [Int]) {
      for index in indices {
        if !isConcurrent || !route.mayBlock(at: index) {
          ready.insert(index)
        } else if blocking == nil {
          blocking = index
        } else {
          resume { $0.start([index]) }
        }
      }
    }
    add(indices)
    if let unparked {
      for entry in isAtomic ? route.entries : [route.entries[unparked]] {
        entry.storage?.startNextParked()
      }
    }
    while let index = ready.popMinimum() ?? blocking.take() {
      if index != unparked, park(index, and: isConcurrent ? [] : ready.sorted) {
        if isConcurrent { continue }
        return false
      }
      let (next, isClosed) = attempt(index)
      if isClosed { return true }
      add(next)
    }
    return false
  }

  /// Parks a store, and the stores after it, until its notifier has delivered the deferred changes.
  ///
  /// Blocks no thread: the notifier enqueues the step. Returns false if there are no deferred changes.
  private func park(_ index: Int, and later: [Int]) -> Bool {
    guard !dispatch.isSynchronous, let storage = storageHoldingBack(index), !isCancelled
    else { return false }
    let key = state.withLock { $0.park([index] + later) }
    if storage.park({ self.unpark(key) }) { return true }
    // A cancellation may have resumed it.
    return state.withLock { $0.unpark(key) } == nil
  }

  /// The storage that holds a store's start back, if one does: for an atomic action, that of any store.
  private func storageHoldingBack(_ index: Int) -> StoreStorage? {
    let entries = isAtomic ? route.entries : [route.entries[index]]
    return entries.lazy.compactMap(\.storage).first(where: \.mayHoldBack)
  }

  /// Starts a parked step; returns false if it was resumed before.
  func unpark(_ key: Int) -> Bool {
    if state.withLock({ $0.startsAction(key) }) {
      // Claimed only when the queue lets it start: until then, a cancellation finds it parked.
      scheduler.resumeStart {
        let step = self.claim(key)
        // Lets another one have its place among those that start.
        if step == nil { self.route.entries.forEach { $0.storage?.startNextParked() } }
        return step
      }
      return true
    }
    // The caller takes the next step after one that is not needed: here, each of them would be a call in the last one.
    guard let step = claim(key) else { return false }
    scheduler.resume(step)
    return true
  }

  /// Takes a parked step; returns nil if it was resumed before.
  private func claim(_ key: Int) -> (@Sendable () -> Void)? {
    guard let indices = state.withLock({ $0.unpark(key) }) else { return nil }
    return { self.takeStep { $0.start(indices, unparked: indices[0]) } }
  }

  /// Starts a store, perhaps once more.
  private func attempt(_ index: Int) -> (next: [Int], isClosed: Bool) {
    var storeRun: StoreRun?
    if retry != nil {
      guard let attempt = state.withLock({ $0.beginAttempt(index) }) else {
        notePauseCancelled()
        return closed(index)
      }
      if attempt > 1 { storeRun = makeAnotherAttempt(index, attempt) }
    }
    let started = storeRun ?? self.storeRun(at: index)
    return follow(started, beginStore(started))
  }

  private func beginStore(_ storeRun: StoreRun) -> StoreRunState.Step {
    let index = storeRun.index
    yieldPoint(.start, storeRun.storeIdentifier)
    let verdict = refusedOutcome(index) ?? (isAtomic ? nil : storeRun.reply?.outcome)
    // A weakly owned store that is not gone now stays until it has got the action.
    let kept = storeRun.entry.isStrong ? nil : storeRun.entry.store
    defer { withExtendedLifetime(kept) {} }
    // An atomic action finds out in its own step, for all of its stores.
    let isGone = !isAtomic && storeRun.entry.isGone
    let start = state.withLock {
      $0.start(index, verdict: verdict, isLeader: isAtomic, isGone: isGone)
    }
    // Cancelled since the last attempt, perhaps in the hooks: then no store begins, nor one that runs regardless.
    if isAtomic, verdict == nil, case .end = start { notePauseCancelled() }
    let outcome: StoreOutcome? =
      switch start {
      case .run: startAndRun(storeRun)
      case .end(let outcome): outcome
      case .fail(let prerequisite, let outcome):
        .failed(
          DispatchError.dependencyFailed(
            storeRun.storeIdentifier, after: route.identifiers[prerequisite], outcome))
      }
    yieldPoint(.startReturned, storeRun.storeIdentifier)
    return state.withLock { $0.entries[index].startReturned(outcome) }
  }

  private func startAndRun(_ storeRun: StoreRun) -> StoreOutcome? {
    storeRun.startedAt = now
    if let session, let startedAt = storeRun.startedAt {
      for index in isAtomic ? 0..<route.count : storeRun.index..<storeRun.index + 1 {
        session.noteStart(of: index, at: startedAt)
      }
    }
    if isAtomic { atomic.startedAt = storeRun.startedAt }
    return dispatch.perform(storeRun) {
      isAtomic ? runAtomically(storeRun) : storeRun.start(on: .current)
    }
  }

  /// Takes the action through all stores; returns the leader's outcome.
  private func runAtomically(_ leader: StoreRun) -> StoreOutcome {
    let outcome = withAddress(of: action) {
      AtomicStep.run(AtomicContext(round: self, leader: leader, thread: .current, action: $0))
    }
    atomic.outcome = outcome
    return outcome[leader.index]
  }

  private func follow(
    _ storeRun: StoreRun, _ step: StoreRunState.Step
  ) -> (next: [Int], isClosed: Bool) {
    switch step {
    case .close(let outcome): close(storeRun, outcome)
    case .run: follow(storeRun, runOperation(of: storeRun))
    case .wait: ([], false)
    }
  }

  /// Runs the operation of a store, whose dependencies have finished.
  private func runOperation(of storeRun: StoreRun) -> StoreRunState.Step {
    guard state.withLock({ $0.entries[storeRun.index].run() }) else { return .wait }
    storeRun.startedAt = now
    dispatch.perform(storeRun) { storeRun.run() }
    return state.withLock { $0.entries[storeRun.index].startReturned() }
  }

  private func close(
    _ storeRun: StoreRun, _ outcome: StoreOutcome
  ) -> (next: [Int], isClosed: Bool) {
    // Decided before the hook, which follows the end of the dispatch's stores and, if it waits for that, the saving.
    let pause = pauseBeforeRetry(of: storeRun, after: outcome)
    if let session, session.followsStores {
      let isHeldBack = pause == nil && endGate != nil
      if isHeldBack, storeRun.endedAt == nil { storeRun.endedAt = session.now }
      let parts = isAtomic ? partsOfAll(with: storeRun, outcome) : [(storeRun, outcome)]
      if isHeldBack {
        gated?.withLock { $0.unhooked += parts }
      } else {
        if pause == nil, state.withLock(\.haveAllEnded) { dispatch.settleDeadline() }
        for (part, outcome) in parts { didDispatch(part, outcome, session) }
      }
    }
    yieldPoint(.close, storeRun.storeIdentifier)
    if let pause, let next = runAgain(storeRun, after: pause) { return (next, false) }
    return closed(storeRun.index)
  }

  func didDispatch(
    _ storeRun: StoreRun, _ outcome: StoreOutcome, _ session: MiddlewareSession
  ) {
    let hasBegun = atomic.outcome?.hasBegun(storeRun.index) != false
    dispatch.perform(nil) {
      session.didDispatch(
        outcome, at: storeRun.index, in: storeRun.entry.storeForHooks,
        startedAt: hasBegun ? storeRun.startedAt : nil,
        endedAt: storeRun.endedAt ?? session.now, reply: storeRun.reply,
        began: storeRun.repeated?.began)
    }
  }

  private func closed(_ index: Int) -> (next: [Int], isClosed: Bool) {
    // Released outside the lock: an operation's deinitialization may run the user's code.
    let (next, isClosed, operation) = state.withLock { $0.closed(index) }
    withExtendedLifetime(operation) {}
    return (next, isClosed)
  }

  // MARK: Reports of operations and stores, on any thread

  /// Takes a report about a store, and the step that follows.
  func report(
    _ storeRun: StoreRun, _ point: Transition,
    _ transition: (inout StoreRunState) -> StoreRunState.Step
  ) {
    yieldPoint(point, storeRun.storeIdentifier)
    resume(state.withLock { transition(&$0.entries[storeRun.index]) }, of: storeRun)
  }

  /// Cancels what is running.
  ///
  /// Stores that have not started end as cancelled in their turn, unless they run regardless.
  func cancel() {
    let cancelled = state.withLock { $0.cancel() }
    if !cancelled.pauses.isEmpty { notePauseCancelled() }
    if let start = gated?.withLock(\.heldStart) { route.endGate?.forget(start) }
    for (index, operation) in cancelled.operations { cancel(operation, at: index) }
    for indices in cancelled.parked {
      // Needs no place, since it starts no store.
      if cancelled.isOver {
        scheduler.resumeEnd { self.takeStep { $0.start(indices) } }
      } else {
        resume { $0.start(indices) }
      }
    }
    for (index, timer) in cancelled.pauses {
      if let timer { retry?.dispatcher.timers.remove(timer) }
      resume { round in
        let (next, isClosed) = round.closed(index)
        return isClosed || round.start(next)
      }
    }
  }

  /// Prevents further starts before a cancellation.
  func startNoMore() {
    state.withLock { $0.startNoMore() }
  }

  func cancel(_ operation: any StoreOperation, at index: Int) {
    // A store that runs regardless and has not started would otherwise never run.
    if !route.runsRegardless[index] || operation.isExecuting { operation.cancel() }
  }

  private func resume(_ step: StoreRunState.Step, of storeRun: StoreRun) {
    if case .wait = step { return }
    // A single closure instead of two nested ones, because most rounds have one such step.
    scheduler.resume {
      self.takeStep { round in
        let (next, isClosed) = round.follow(storeRun, step)
        return isClosed || round.start(next)
      }
    }
  }

  /// Continues at the scheduler.
  ///
  /// The step that closes the round ends the dispatch.
  func resume(_ step: @escaping @Sendable (Round) -> Bool) {
    scheduler.resume { self.takeStep(step) }
  }

  /// Takes a step on this thread; the one that closes the round ends the dispatch.
  func takeStep(_ step: (Round) -> Bool) {
    if step(self) { dispatch.roundClosed(self) }
  }
}
