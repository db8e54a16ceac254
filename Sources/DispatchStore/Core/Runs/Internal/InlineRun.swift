/// Takes one action through its stores on this thread, store after store, as long as each ends at once.
///
/// A value on the stack, and the context of all code that runs there: hooks, reducers, observers and the
/// completion. It serves every mode. A queued dispatch has a record; `.sync` begins without one, since no
/// other thread can know the dispatch. Its record is made where code needs what only a record has: an
/// operation, the owner of an observed commit, what a wait holds up. Only the thread that runs it has
/// access, by the address in its `ThreadState`.
struct InlineRun: ~Copyable {
  let transaction: TransactionID
  /// The stores; the run, or its record where there is one, is the outstanding dispatch that has to end it.
  var route: Unmanaged<Route>
  /// The address of the action that the present store gets.
  var action: UnsafeRawPointer
  fileprivate let callSite: CallSite
  /// Of a run that begins without a record; nil where it only reduces.
  let dispatcher: Unmanaged<Dispatcher>?
  /// What a task that runs its dispatch has acquired for it, of a run that begins without a record.
  let place: Unmanaged<Scheduler>?
  /// That task, once there is a record.
  private(set) var task: TaskScheduler?
  /// Whether a round goes on in that task.
  var continuesInTask = false
  /// The run around this one on this thread, with no other context between them.
  let outer: Address?
  /// Unmanaged, so that the end can see whether a handle refers to it too.
  ///
  /// A queued record is its starter's; one that was made here is released by `endHere`.
  fileprivate var record: Unmanaged<Dispatch>?
  /// Of a run that began without a record; a queued record has its own.
  var completion: Completion?
  /// The run's reference, until all stores have ended or a round goes on.
  var session: Unmanaged<MiddlewareSession>?
  /// By store index; empty while all have finished.
  var outcomes: [StoreOutcome] = []
  /// What has become of the present store, where that is still to be noted.
  fileprivate var begun: InlineStep?
  /// Whether there is no session, and all stores have finished so far.
  fileprivate var isPlain = true
  /// The store whose part runs; `noStore` in hooks and in the completion.
  fileprivate var index = InlineRun.noStore

  typealias Address = UnsafeMutablePointer<InlineRun>
  fileprivate static let noStore = -1

  /// For `.sync`, and for a task that has acquired a place.
  init(
    _ action: UnsafeRawPointer, to route: Unmanaged<Route>, of dispatcher: Unmanaged<Dispatcher>?,
    at place: Scheduler? = nil, _ completion: Completion?, _ callSite: CallSite,
    on thread: ThreadState
  ) {
    transaction = .make(on: thread)
    self.route = route
    self.action = action
    self.callSite = callSite
    self.dispatcher = dispatcher
    self.place = place.map(Unmanaged.passUnretained)
    if let completion { self.completion = completion }
    outer = thread.run
  }

  /// For a dispatch that its scheduler starts, or that is prepared for it.
  init(of record: Dispatch, _ action: UnsafeRawPointer, on thread: ThreadState) {
    transaction = record.id
    route = record.route.unsafelyUnwrapped
    self.action = action
    callSite = record.callSite
    (dispatcher, place) = (nil, nil)
    session = record.takeSession().map(Unmanaged.passRetained)
    isPlain = session == nil
    self.record = .passUnretained(record)
    outer = thread.run
  }

  /// Gives a closure the address of a run on the stack.
  @inline(__always)
  static func withAddress<Result>(
    of run: consuming InlineRun, _ body: (Address) -> Result
  ) -> Result {
    var run = run
    return withUnsafeMutablePointer(to: &run, body)
  }

  // MARK: Context

  /// The innermost context on this thread that has a record: runs without one hold nothing up, but for a task's that
  /// has acquired a place, for which it is made here.
  static func recorded(on thread: ThreadState) -> DispatchContext? {
    recorded(thread.run, on: thread)
  }

  /// The same from a run on.
  static func recorded(_ innermost: Address?, on thread: ThreadState) -> DispatchContext? {
    var run = innermost
    while let present = run {
      if present.pointee.place != nil { return present.pointee.makeContext(on: thread) }
      if let record = present.pointee.record { return record.takeUnretainedValue() }
      run = present.pointee.outer
    }
    return thread.context
  }

  /// Whether a run from here on is of a dispatcher.
  static func isInside(of dispatcher: UInt64, _ innermost: Address?) -> Bool {
    var run = innermost
    while let present = run {
      let number = present.pointee.route._withUnsafeGuaranteedRef(\.dispatcher)
      if number == dispatcher { return true }
      run = present.pointee.outer
    }
    return false
  }

  /// The run's record, made where there is none.
  mutating func makeRecord(on thread: ThreadState) -> Dispatch {
    if let record { return record.takeUnretainedValue() }
    let made = thread.spareDispatches.pop() ?? Dispatch()
    let parent = DispatchContext.transaction(of: outer, on: thread)
    made.begin(transaction, parent: parent, to: route, nil, callSite)
    made.beginHere(inside: DispatchContext.around(parent, outer, on: thread))
    record = .passRetained(made)
    if let place { made.enter(place.takeUnretainedValue()) }
    dispatcher?._withUnsafeGuaranteedRef { $0.note(made, .sync, on: thread) }
    return made
  }

  /// The same for what is about to wait, or to go on in a round: a task's record holds its place from then on.
  ///
  /// What comes to the place after that finds it there: before, the run waited for nothing.
  mutating func makeContext(on thread: ThreadState) -> Dispatch {
    let record = makeRecord(on: thread)
    holdPlace(for: record)
    return record
  }

  mutating func holdPlace(for record: Dispatch) {
    guard task == nil, let place = place?.takeUnretainedValue() else { return }
    let task = TaskScheduler.make(
      at: place, of: dispatcher.unsafelyUnwrapped.takeUnretainedValue(), on: .current)
    self.task = task
    record.enter(task)
    place.hold(record)
  }

  /// The record of a task's dispatch has ended.
  fileprivate func releasePlace(_ record: Dispatch) {
    task?.release(record)
  }

  /// Whether it is of the dispatch on behalf of which a store is changed.
  func isOf(_ owner: any CommitOwner) -> Bool {
    record?.toOpaque() == Unmanaged.passUnretained(owner as AnyObject).toOpaque()
  }

  /// Whether a store's part runs; not in hooks and in the completion.
  var isInStore: Bool { index != Self.noStore }

  /// On whose behalf its code changes stores, while a store's part runs.
  mutating func owner(on thread: ThreadState) -> (any CommitOwner)? {
    if record == nil, isPlanted(.noRecord) { return thread.context?.owner }
    return makeRecord(on: thread)
  }

  /// The action, where the part of this store runs.
  func action<Model, Action>(in store: Store<Model, Action>) -> Action? {
    guard isInStore, route._withUnsafeGuaranteedRef({ $0.entries[index].store === store }) else {
      return nil
    }
    return route._withUnsafeGuaranteedRef {
      $0.entries[index].action(at: action, as: Action.self)
    }
  }

  /// How those ended that the present store has waited for; empty in other code than its own.
  func prerequisiteResults(of store: any StoreType) -> [StoreResult] {
    guard isInStore else { return [] }
    return route._withUnsafeGuaranteedRef { route in
      guard route.entries[index].store === store else { return [] }
      return route.prerequisiteResults(at: index, outcomes)
    }
  }

  /// The store whose part runs; nil in hooks and in the completion.
  var storeIdentifier: String? {
    index == Self.noStore ? nil : route._withUnsafeGuaranteedRef { $0.identifiers[index] }
  }

  /// Whether what the store's part dispatches is not cancelled with the dispatch.
  var runsRegardless: Bool { route._withUnsafeGuaranteedRef { $0.runsRegardless[index] } }

  /// The record of the dispatch, where others may cancel that; nil where only what is around it can be cancelled.
  mutating func recordToCancel(on thread: ThreadState) -> Dispatch? {
    if place != nil, thread.exclusive == nil { return makeContext(on: thread) }
    guard let record = record?.takeUnretainedValue() else { return nil }
    return isOnCallersThread && record.mayLink ? nil : record
  }

  /// The record, linked to the dispatch whose block runs around this run, so that what is dispatched here is a part of
  /// what that leads to.
  mutating func linkedRecord(on thread: ThreadState) -> Dispatch {
    let record = makeContext(on: thread)
    if isOnCallersThread {
      record.link(to: DispatchContext.linkedBlock(from: outer, on: thread))
    } else {
      record.linkToCaller()
    }
    return record
  }

  /// Whether it began without a record, and not in a task.
  private var isOnCallersThread: Bool {
    place == nil && record?._withUnsafeGuaranteedRef { $0.isSynchronous } != false
  }

  // MARK: What it knows

  /// The present store has begun.
  fileprivate mutating func begin(_ step: InlineStep) {
    begun = step
    isPlain = false
  }

  /// Whether the next store needs no look at verdicts, outcomes or a cancellation.
  fileprivate var isUndisturbed: Bool { isPlain && hasNoDetails }

  fileprivate var hasNoDetails: Bool {
    guard let record else { return true }
    return record._withUnsafeGuaranteedRef { !$0.hasDetails }
  }

  /// Whether the stores can't run one after the other in the order of their indices; in a task they do.
  fileprivate var needsConcurrentOrder: Bool {
    place == nil && route._withUnsafeGuaranteedRef { !$0.isPlainConcurrently }
      && record?._withUnsafeGuaranteedRef(\.runsConcurrently) == true
  }

  fileprivate mutating func takeCompletion() -> Completion? {
    record?._withUnsafeGuaranteedRef { $0.takeCompletion() } ?? completion.take()
  }

  /// Whether nothing is left of a `.sync` run but its end: all stores before a position finished, and there are no others.
  fileprivate func isDone(at position: Int) -> Bool {
    isPlain && completion == nil && record == nil
      && route._withUnsafeGuaranteedRef { position == $0.count && !$0.hasFailed }
  }

  fileprivate mutating func note(_ outcome: StoreOutcome, at index: Int, of route: Route) {
    if outcomes.isEmpty { outcomes = Array(repeating: .finished, count: route.count) }
    outcomes[index] = outcome
    isPlain = false
  }

  /// Notes that a store starts, for a deadline that comes meanwhile; false where it has come.
  fileprivate func noteStart(at index: Int, of route: Route) -> Bool {
    record?._withUnsafeGuaranteedRef {
      $0.withDetails { $0.noteStart(at: index, of: route.identifiers) }
    } ?? true
  }

  /// Notes how a store has ended, likewise.
  fileprivate func noteEnd(_ outcome: StoreOutcome, at index: Int, of route: Route) {
    record?._withUnsafeGuaranteedRef {
      _ = $0.withDetails { $0.note(outcome, at: index, of: route.identifiers) }
    }
  }

  /// Whether it runs at a scheduler: no caller waits for it.
  var isScheduled: Bool {
    place != nil || record?._withUnsafeGuaranteedRef { !$0.isSynchronous } == true
  }

  /// Whether its stores may run again: only a round does that.
  fileprivate var needsRound: Bool {
    record?._withUnsafeGuaranteedRef {
      $0.withDetails { $0.retry != nil } == true && !$0.isCancelled
    }
      == true
  }

  /// Whether it was queued, by a caller that went on.
  fileprivate var isQueued: Bool {
    place == nil && record?._withUnsafeGuaranteedRef { !$0.isSynchronous && !$0.isOfTask } == true
  }

  fileprivate var isCancelled: Bool {
    record?._withUnsafeGuaranteedRef(\.isCancelled) == true
  }

  fileprivate var hasFinished: Bool {
    outcomes.isEmpty && route._withUnsafeGuaranteedRef { !$0.hasFailed }
  }

  fileprivate var result: DispatchResult { result(of: record?.takeUnretainedValue()) }

  /// - Parameter record: The run's record, which the end has taken from it.
  fileprivate func result(of record: Dispatch?) -> DispatchResult {
    let details = record?.details
    return route._withUnsafeGuaranteedRef { route in
      DispatchResult(
        transaction: transaction, identifiers: route.identifiers, outcomes: outcomes,
        replies: details?.replies ?? [:],
        // Why it has been cancelled, where it would have waited for ever.
        error: details?.withState(\.refusal) ?? route.failure)
    }
  }
}

// MARK: - Before the stores

extension InlineRun.Address {
  /// Does what comes before the stores, on the dispatching thread: refines their order, and calls
  /// middlewares.
  func prepare(
    _ action: @autoclosure () -> any ActionType, to storeIdentifier: String?,
    in mode: Dispatcher.Mode, by dispatcher: Dispatcher, on thread: ThreadState
  ) {
    let outer = thread.run
    thread.run = self
    defer { thread.run = outer }
    let action = action()
    let startsAtOnce = pointee.record == nil
    let chain = pointee.route._withUnsafeGuaranteedRef(\.chainForHooks)
    if let chain {
      let session = MiddlewareSession.begin(
        action, chain, pointee.transaction, parent: parent(on: thread), mode, pointee.callSite,
        by: dispatcher, on: thread)
      pointee.session = session
      pointee.isPlain = false
      if session._withUnsafeGuaranteedRef(\.hasWholes) { begin(session, in: mode, on: thread) }
    }
    if pointee.route._withUnsafeGuaranteedRef(\.mayChange) {
      refineRoute(for: action, to: storeIdentifier, by: dispatcher, on: thread)
    }
    pointee.session?._withUnsafeGuaranteedRef { session in
      pointee.route._withUnsafeGuaranteedRef {
        session.willDispatch(action, along: $0, startsAtOnce: startsAtOnce)
      }
    }
  }

  /// Calls the hooks of the whole dispatch, at which other threads may look from now on.
  @inline(never)
  private func begin(
    _ session: Unmanaged<MiddlewareSession>, in mode: Dispatcher.Mode, on thread: ThreadState
  ) {
    session._withUnsafeGuaranteedRef {
      if $0.isWatched { watch(session, in: mode, on: thread) }
      $0.dispatchBegan()
    }
  }

  /// Lets other threads look at the dispatch from now on, which therefore has details.
  private func watch(
    _ session: Unmanaged<MiddlewareSession>, in mode: Dispatcher.Mode, on thread: ThreadState
  ) {
    let record = pointee.makeRecord(on: thread)
    _ = record.makeDetails()
    let caller = mode.isSync ? record.outer?.dispatch : nil
    session._withUnsafeGuaranteedRef { $0.watch(record, caller: caller) }
  }

  /// The same for a queued dispatch, which keeps what was prepared.
  func prepare(
    _ record: Dispatch, _ action: any ActionType, to storeIdentifier: String?,
    in mode: Dispatcher.Mode, by dispatcher: Dispatcher, on thread: ThreadState
  ) {
    record.keep(
      outer: isPlanted(.hookOutside) ? nil : DispatchContext.enclosing(thread.run, on: thread))
    prepare(action, to: storeIdentifier, in: mode, by: dispatcher, on: thread)
    guard let session = pointee.session.take() else { return }
    session._withUnsafeGuaranteedRef { $0.keepAlive() }
    record.keep(session.takeRetainedValue())
  }

  private func parent(on thread: ThreadState) -> TransactionID? {
    if let record = pointee.record { return record.takeUnretainedValue().parent }
    return DispatchContext.transaction(of: pointee.outer, on: thread)
  }

  /// Leaves out weakly held stores that are gone, and takes the order from what reducers say.
  private func refineRoute(
    for action: any ActionType, to storeIdentifier: String?, by dispatcher: Dispatcher,
    on thread: ThreadState
  ) {
    var route = pointee.route.takeUnretainedValue()
    while route.hasWeakStores, dispatcher.unregisterGone(route.registered) {
      replaceRoute(
        by: dispatcher.route(to: type(of: action), identifier: storeIdentifier, on: thread))
      route = pointee.route.takeUnretainedValue()
    }
    if let refined = route.refined(for: action, wasRegistered: dispatcher.wasRegistered) {
      replaceRoute(by: .passUnretained(refined.route))
      dispatcher.reportAbsent(refined.absent, for: action)
    }
  }

  private func replaceRoute(by route: Unmanaged<Route>) {
    let former = pointee.route
    pointee.session?._withUnsafeGuaranteedRef { $0.keepAlive() }
    pointee.route = route
    pointee.record?._withUnsafeGuaranteedRef { $0.keep(route) }
    former._withUnsafeGuaranteedRef { $0.end() }
  }
}

// MARK: - The stores

extension InlineRun.Address {
  /// Runs a `.sync` dispatch.
  ///
  /// Most of them go to stores that only reduce: `reduce` takes the action to these, one after the other.
  @inline(__always)  // with `reduce`, 15 % of `sync-reduction`
  func runHere(on thread: ThreadState) -> DispatchHandle {
    thread.run = self
    let position = reduce(on: thread)
    guard pointee.isDone(at: position) else {
      return endHere(finishRun(from: position, on: thread), on: thread)
    }
    thread.run = pointee.outer
    return endFinished()
  }

  /// Takes the action to the first stores that only reduce, for which no record is made; the position of the
  /// next one, which may have begun.
  @inline(__always)
  private func reduce(on thread: ThreadState) -> Int {
    guard pointee.isPlain else { return 0 }
    let action = pointee.action
    return pointee.route._withUnsafeGuaranteedRef { route in
      for position in 0..<route.reductionCount {
        switch route.reduce(action, at: position, on: thread) {
        case .done: continue
        case .observed:
          pointee.index = position
          pointee.begin(route.reduceObserved(action, at: position, on: thread))
        case .failed(let error): pointee.begin(.ended(.of(thrown: error)))
        }
        return position
      }
      return route.reductionCount
    }
  }

  /// Runs a dispatch that its scheduler has started.
  ///
  /// - Parameter record: The caller's only reference.
  func run(_ record: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    thread.run = self
    return end(&record, finishRun(from: 0, on: thread), on: thread)
  }

  /// Goes on with the stores from a position, and runs the completion where all have ended.
  @inline(never)
  private func finishRun(from position: Int, on thread: ThreadState) -> InlineRemainder? {
    let remainder = runStores(from: position, on: thread)
    pointee.index = InlineRun.noStore
    if remainder == nil {
      complete(on: thread)
    } else if isPlanted(.completionTwice) {
      pointee.takeCompletion()?.run(pointee.result)
    }
    thread.run = pointee.outer
    return remainder
  }

  private func runStores(
    from first: Int, on thread: ThreadState
  ) -> InlineRemainder? {
    pointee.route._withUnsafeGuaranteedRef { route in
      var (order, first): ([Int]?, Int) = (nil, first)
      if first == 0, route.count > 0, pointee.needsRound {
        return InlineRemainder(position: 0, order: nil, begun: nil)
      }
      if pointee.needsConcurrentOrder {
        guard route.isInlineConcurrently || pointee.isCancelled else {
          return InlineRemainder(position: 0, order: nil, begun: nil)
        }
        order = route.concurrentOrder
      }
      if let begun = pointee.begun.take() {
        guard end(begun, at: first, of: route, isLast: first + 1 == route.count) else {
          return InlineRemainder(position: first, order: order, begun: (first, begun))
        }
        first += 1
      }
      var hasStarted = first > 0
      for position in first..<route.count {
        let index = order?[position] ?? position
        pointee.index = index
        let step: InlineStep
        if pointee.isUndisturbed {
          hasStarted = true
          step = route.answer(pointee.action, at: index, in: self, on: thread)
        } else if let answer = answer(at: index, of: route, &hasStarted, on: thread) {
          step = answer
        } else {
          return InlineRemainder(position: position, order: order, begun: nil)
        }
        if case .finished = step, pointee.isUndisturbed { continue }
        guard end(step, at: index, of: route, isLast: position + 1 == route.count) else {
          return InlineRemainder(position: position, order: order, begun: (index, step))
        }
      }
      return nil
    }
  }

  /// The answer of a store that may have no turn: after a verdict, a failure before it, or a cancellation.
  ///
  /// Nil where the store runs although the dispatch is cancelled: in a round, which does not cancel it.
  ///
  /// - Parameter hasStarted: Whether a store's reducer has been called.
  private func answer(
    at index: Int, of route: Route, _ hasStarted: inout Bool, on thread: ThreadState
  ) -> InlineStep? {
    let reply = pointee.session?._withUnsafeGuaranteedRef { $0.reply(at: index) }
    if let decided = reply?.outcome { return .ended(decided) }
    if pointee.isCancelled {
      return hasStarted && route.runsRegardless[index] ? nil : .ended(.cancelled(hasStarted: false))
    }
    if !pointee.outcomes.isEmpty,
      let error = route.dependencyFailure(at: index, pointee.outcomes)
    {
      return .ended(.failed(error))
    }
    guard pointee.noteStart(at: index, of: route) else {
      return hasStarted && route.runsRegardless[index] ? nil : .ended(.cancelled(hasStarted: false))
    }
    hasStarted = true
    pointee.session?._withUnsafeGuaranteedRef { $0.start(index) }
    guard let reply else { return route.answer(pointee.action, at: index, in: self, on: thread) }
    let dispatched = pointee.action
    defer { pointee.action = dispatched }
    return withAddress(of: reply.action) { address in
      pointee.action = address
      return route.answer(address, at: index, in: self, on: thread)
    }
  }

  /// Notes how a store's part ended and calls `didDispatch`; false where it has not ended.
  private func end(
    _ step: InlineStep, at index: Int, of route: Route, isLast: Bool
  ) -> Bool {
    if pointee.record?._withUnsafeGuaranteedRef(\.hasUndeliveredCommits) == true { return false }
    var outcome = StoreOutcome.finished
    switch step {
    case .finished:
      break
    case .ended(let ended):
      pointee.note(ended, at: index, of: route)
      outcome = ended
    case .unfinished, .running, .heldBack:
      return false
    }
    pointee.index = InlineRun.noStore
    if isLast {
      pointee.record?._withUnsafeGuaranteedRef { $0.settleDeadline() }
    } else {
      pointee.noteEnd(outcome, at: index, of: route)
    }
    pointee.session?._withUnsafeGuaranteedRef {
      $0.didDispatch(outcome, at: index, along: route)
    }
    return true
  }

  private func complete(on thread: ThreadState) {
    pointee.record?._withUnsafeGuaranteedRef { $0.storesEnded() }
    if let completion = pointee.takeCompletion() { completion.run(pointee.result) }
    guard let session = pointee.session.take() else { return }
    session._withUnsafeGuaranteedRef { if $0.hasWholes { end($0, on: thread) } }
    MiddlewareSession.end(session, on: thread)
  }

  /// Calls the hooks of the whole dispatch, and lets begin what follows it.
  @inline(never)
  private func end(_ session: MiddlewareSession, on thread: ThreadState) {
    session.dispatchEnded(pointee.result)
    if session.followers.isEmpty { return }
    let ended = EndedDispatch(session, pointee.result) {
      let record = pointee.makeRecord(on: thread)
      if !pointee.isQueued {
        record.link(to: DispatchContext.linkedBlock(from: pointee.outer, on: thread))
      }
      return record.whole.makeDetails()
    }
    for follower in session.followers { follower.dispatchEnded(ended) }
  }

  // MARK: The end

  @inline(__always)
  private func endFinished() -> DispatchHandle {
    pointee.route._withUnsafeGuaranteedRef { route in
      let handle = DispatchHandle(finished: pointee.transaction, route)
      route.end()
      return handle
    }
  }

  /// Ends a `.sync` dispatch; one that did not simply finish gets a record.
  private func endHere(_ remainder: InlineRemainder?, on thread: ThreadState) -> DispatchHandle {
    if pointee.record == nil {
      if remainder == nil, pointee.hasFinished { return endFinished() }
      _ = pointee.makeRecord(on: thread)
    }
    let finished = pointee.route._withUnsafeGuaranteedRef {
      DispatchHandle(finished: pointee.transaction, $0)
    }
    var record = pointee.record.take().unsafelyUnwrapped.takeRetainedValue()
    switch end(&record, remainder, on: thread) {
    case .reusable:
      thread.spareDispatches.push(record)
      return finished
    case .ended:
      pointee.releasePlace(record)
    case .continues:
      if !pointee.continuesInTask {
        (record.details?.scheduler as? SyncLoop)?.runToEnd(of: record, on: thread)
      }
    }
    return DispatchHandle(record)
  }

  private func end(
    _ record: inout Dispatch, _ remainder: InlineRemainder?, on thread: ThreadState
  ) -> InlineEnd {
    if let remainder {
      continueInRound(with: record, from: remainder, on: thread)
      return .continues
    }
    record.yieldBeforeEnd()
    // In this order: once there is no other reference, no other thread can make details.
    if pointee.hasFinished, pointee.task == nil, isUniquelyReferencedForReuse(&record),
      record.isReusable
    {
      record.clear()
      if record.hasDetails { record.recycleRest(on: thread) }
      return .reusable
    }
    record.end(pointee.result(of: record))
    return .ended
  }
}
