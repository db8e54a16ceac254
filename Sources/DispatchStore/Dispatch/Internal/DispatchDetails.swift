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
  /// For the rounds of the dispatch, until the end.
  var dispatcher: Dispatcher?
  /// Guarded by the wait graph: what this one waits for while it runs, and whether a search has reached it.
  var waits: [Int: WaitGraph.Edge] = [:]
  var isReached = false

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
    /// What it is linked with, by blocks that dispatch.
    var family: DispatchFamily?
    /// What goes on after its end on its account.
    var followUp: FollowUp.Owner?
    /// The dispatch whose block makes it, known before its scheduler has it; until its end.
    var around: DispatchDetails?
    /// Of one that has no limit of its own, that of the block that it runs in.
    var linkedDeadline: Int64?
    /// That of the record, where it had no more effect: the thread that has scheduled the dispatch may still look at it.
    var formerLimit: TimeLimit?
    /// The store run to which the inline run's present store has been passed.
    var successor: StoreRun?

    /// Whether nothing was set but its phase, its scheduler, and what needs no release.
    var isPlain: Bool {
      life.isPlain && replies.isEmpty && atStoresEnd.isEmpty && family == nil && followUp == nil
        && around == nil && formerLimit == nil && successor == nil
    }
  }

  init(_ life: DispatchState) {
    state = Locked(Guarded(life: life))
  }

  /// Makes them, or uses this thread's spare ones.
  static func make(isRunning: Bool) -> DispatchDetails {
    let life = DispatchState(isRunning: isRunning)
    guard let spare = ThreadState.current.takeSpareDetails() else { return DispatchDetails(life) }
    if isRunning { spare.state.withOnlyReference { $0.life = life } }
    return spare
  }

  /// Whether there is nothing in them that concerns the end.
  var isForgettable: Bool {
    state.withLock { state in
      state.life.isUndisturbed && state.replies.isEmpty && state.followUp == nil
        && state.family?.children.isEmpty != false
    }
  }

  /// Makes them as they were at first; false where they stay in use, by what the dispatch's blocks have dispatched.
  func reset() -> Bool {
    guard resetPlain() || resetAll() else { return false }
    hasEnded.store(false, ordering: .relaxed)
    if !waits.isEmpty { waits = [:] }
    (isReached, isControlled, isDetached) = (false, false, false)
    (isKnown, isJoining, priority) = (false, false, nil)
    if dispatcher != nil { dispatcher = nil }
    if retry != nil { retry = nil }
    return true
  }

  /// The same for a state in which little was set; false, and nothing done, for another one.
  private func resetPlain() -> Bool {
    var former: Scheduler?
    defer { withExtendedLifetime(former) {} }
    if isPlanted(.keptReplies) { return false }
    return state.withLock { state in
      guard state.isPlain else { return false }
      state.life.reset()
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
      guard state.family?.children.isEmpty != false else { return false }
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
    limit.keepDispatcher()
    withState { $0.put(limit) }
    hasCallsAtStoresEnd.store(true, ordering: .releasing)
  }

  /// Takes over the limit of a record, where that hands over its state to these details.
  ///
  /// Under the lock, since another thread that finds the details in the record finds the limit in them, too. Not before:
  /// until it is out of the record's word, the one that takes it out may release it.
  func takeOver(
    _ word: DispatchWord, _ handOver: () -> (exchanged: Bool, original: DispatchWord)
  ) -> (exchanged: Bool, original: DispatchWord) {
    guard word.presentLimit != nil else {
      return state.withLock { state in
        let result = handOver()
        if result.exchanged { state.formerLimit = word.limit?.takeRetainedValue() }
        return result
      }
    }
    isControlled = true
    hasCallsAtStoresEnd.store(true, ordering: .relaxed)
    return state.withLock { state in
      let result = handOver()
      guard result.exchanged, let limit = word.limit?.takeRetainedValue() else { return result }
      limit.keepDispatcher()
      limit.hasBegun = word.phase == .running
      state.life.put(limit)
      // Its scheduler has it not yet.
      if limit.isFirstToMeet() { state.life.awaitAcceptance() }
      return result
    }
  }

  /// Others know it: from now on its limit, if it has one, ends what the target stands for.
  func startTimer(for target: any TimerTarget) {
    guard let limit = withState(\.limit) else { return }
    let timers = limit.dispatcher.timers
    // One that the record had may be in the heap.
    let timer = limit.queue?.remove(limit) ?? timers.add(target, at: limit.deadline)
    let isLate = withState { state in
      if state.isOver || state.result != nil { return true }
      limit.timer = timer
      return false
    }
    if isLate { timers.remove(timer) }
  }

  /// A store of an inline run starts; false where the dispatch has timed out.
  func noteStart(at index: Int, of identifiers: [String]) -> Bool {
    guard callsAtStoresEnd else { return true }
    return withState { state in
      guard let limit = state.limit, limit.endsEarly else { return true }
      limit.notes?.note(.cancelled(hasStarted: true), at: index, of: identifiers)
      return limit.notes != nil
    }
  }

  /// A store of an inline run has ended.
  func note(_ outcome: StoreOutcome, at index: Int, of identifiers: [String]) {
    guard callsAtStoresEnd else { return }
    withState { $0.limit?.notes?.note(outcome, at: index, of: identifiers) }
  }

  /// It is to run a sequence; whether that is to note its steps.
  func begin(sequenceOf actionCount: Int) -> Bool {
    withState { state in
      state.limit?.notes?.actionCount = actionCount
      return state.limit?.endsEarly == true
    }
  }

  /// An action of a sequence has ended.
  func note(_ step: DispatchResult) {
    withState { $0.limit?.notes?.note(step) }
  }

  /// How a dispatch ends at its deadline.
  func earlyResult(of id: TransactionID) -> DispatchResult? {
    let (work, error) = withState { ($0.work, $0.refusal) }
    if case .round(let round) = work { return round.result }
    return withState { $0.limit?.early?.result(of: id, error) }
  }

  /// Its stores have ended: from here on no deadline changes the result.
  ///
  /// A timer that is set now, by the thread that has scheduled it, is removed at its end: while that thread refers to
  /// the dispatch, that is not used again.
  func beginEnding() {
    let timer = withState { state in
      state.beginEnding()
      return state.limit?.takeTimer()
    }
    timer?.remove()
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
      return Inheritance(
        isCancelled: state.isCancelled, hasTimedOut: state.refusal != nil,
        deadline: state.limit?.deadline)
    }
  }

  /// The deadline of what a block of it dispatches: its own, or that of the block that it runs in.
  var inheritedDeadline: Int64? {
    state.withLock { state in
      if state.life.isOver { return nil }
      return state.life.limit?.deadline ?? state.linkedDeadline
    }
  }

  /// It runs in a block of another dispatch, on the caller's thread or in its task.
  func put(around: DispatchDetails, passing deadline: Int64?) {
    state.withLock { state in
      state.around = around
      state.linkedDeadline = deadline
    }
  }

  /// A block of the dispatch has dispatched another one, which is cancelled with it; nil where it is over.
  func adopt(_ child: Dispatch, _ details: DispatchDetails) -> Inheritance? {
    state.withLock { state in
      if state.life.isOver { return nil }
      let family = state.family ?? DispatchFamily()
      state.family = family
      if !isPlanted(.lostChild) { family.children[ObjectIdentifier(details)] = child }
      return Inheritance(
        isCancelled: state.life.isCancelled, hasTimedOut: state.life.refusal != nil, deadline: nil)
    }
  }

  /// It was dispatched by a block of another one, which has adopted it.
  func enter(familyOf parent: DispatchDetails) {
    state.withLock { state in
      let family = state.family ?? DispatchFamily()
      family.parent = parent
      state.family = family
    }
    // It may have ended meanwhile.
    leaveFamily()
  }

  var hasParent: Bool { state.withLock { $0.family?.parent != nil } }
  var hasChildren: Bool { state.withLock { $0.family?.children.isEmpty == false } }

  /// Those that its blocks have dispatched, or theirs, and that are not over, in the order of their transactions.
  var children: [Dispatch] {
    let children = state.withLock { $0.family.map { Array($0.children.values) } ?? [] }
    return children.sorted { $0.id < $1.id }
  }

  private func remove(_ child: DispatchDetails) {
    let removed = state.withLock {
      $0.family?.children.removeValue(forKey: ObjectIdentifier(child))
    }
    withExtendedLifetime(removed) {}
  }

  /// Where it is over, and so is all that its blocks have dispatched, what has adopted it no longer needs it.
  @inline(never)
  func leaveFamily() {
    var details = self
    while let parent = details.takeParentAtEnd() {
      parent.remove(details)
      details = parent
    }
  }

  private func takeParentAtEnd() -> DispatchDetails? {
    state.withLock { state in
      let isDone = state.life.isOver && state.family?.children.isEmpty == true
      return isDone ? state.family?.parent.take() : nil
    }
  }

  // MARK: What follows it

  /// What goes on after its end on its account; nil where nothing does.
  var followUp: FollowUp? { state.withLock { $0.followUp?.followUp } }

  /// The dispatch whose block has made it; nil after its end, where it has dispatched nothing that goes on.
  var around: DispatchDetails? { state.withLock { $0.around ?? $0.family?.parent } }

  /// It is about to be scheduled, and joins the dispatch whose block makes it afterwards.
  func put(around: DispatchDetails) {
    state.withLock { $0.around = around }
  }

  /// It stands for a part of what goes on after another dispatch.
  func put(_ followUp: FollowUp) {
    state.withLock { $0.followUp = FollowUp.Owner(followUp, isOwner: false) }
  }

  /// The same, made where there is none.
  ///
  /// - Parameter around: The details of the dispatch in whose block, or in whose sequence, it was made: on its account,
  ///   too.
  func makeFollowUp(around: DispatchDetails?) -> FollowUp {
    if let followUp { return followUp }
    let made = FollowUp.Owner(
      FollowUp(in: around.map { $0.makeFollowUp(around: $0.around) }), isOwner: true)
    return state.withLock { state in
      let present = state.followUp ?? made
      state.followUp = present
      return present.followUp
    }
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

  /// Whether an inline run may go on after a store that does not end at once: no failed store runs again, and no deadline
  /// ends the dispatch before its stores.
  var mayGoOnInline: Bool { retry == nil && !callsAtStoresEnd }

  /// Whether the caller's task may run its blocks itself: nothing else cancels them.
  var mayGoOnInTask: Bool { mayGoOnInline && !isControlled }

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

  /// A store's block is to run in the caller's task; whether it is to be cancelled first.
  func begin(_ storeRun: SoloStoreRun, in task: TaskScheduler) -> Bool {
    state.withLock { state in
      if state.scheduler == nil { state.scheduler = task }
      for _ in 0..<state.undelivered { storeRun.commitDeferred() }
      state.undelivered = 0
      state.successor = storeRun
      return state.life.begin(.store(storeRun)) && !isPlanted(.lostCancellation)
    }
  }

  /// They have ended, and an inline run goes on.
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
    let around = state.withLock { state in
      state.successor = nil
      return state.around.take()
    }
    withExtendedLifetime(around) {}
  }

  /// Resumes those that wait for the end.
  func end(_ result: DispatchResult) {
    // Under the lock: a thread that finds there that the dispatch has ended finds the result, too.
    let (waiters, timer, family) = state.withLock { state in
      let waiters = state.life.end(result)
      if state.life.result != nil { hasEnded.store(true, ordering: .releasing) }
      return (waiters, state.life.limit?.takeTimer(), state.family)
    }
    timer?.remove()
    if family != nil { leaveFamily() }
    resume(waiters)
  }

  private func resume(_ waiters: [@Sendable () -> Void]) {
    guard !waiters.isEmpty else { return }
    ThreadState.current.hasResumedOthers = true
    for waiter in waiters { waiter() }
  }
}
