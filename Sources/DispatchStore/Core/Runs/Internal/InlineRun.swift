/// Takes one action through its stores on this thread, store after store, as long as each ends at once.
///
/// A value on the stack, and the context of all code that runs there: hooks, reducers, observers and the completion.
/// It serves every mode. A queued dispatch has a record; `.sync` begins without one, since no other thread can know
/// the dispatch. The record is made later if code needs it: for an operation, the owner of an observed commit, or a
/// wait that blocks the run. Only the thread that runs it has access, by the address in its `ThreadState`.
struct InlineRun: ~Copyable {
  let dispatchID: DispatchID
  /// The stores.
  ///
  /// The run, or its record if there is one, counts as outstanding in the route and has to end it.
  var route: Unmanaged<Route>
  /// The address of the action that the current store gets.
  var action: UnsafeRawPointer
  fileprivate let callSite: CallSite
  /// The dispatcher of a run that begins without a record.
  let dispatcher: Unmanaged<Dispatcher>?
  /// The scheduler that a task has acquired for a run that begins without a record.
  let place: Unmanaged<Scheduler>?
  /// The task that acquired the place, once there is a record.
  private(set) var task: TaskScheduler?
  /// Whether a round continues in that task.
  var continuesInTask = false
  /// The run around this one on this thread, with no other context between them.
  let outer: Address?
  /// The record.
  ///
  /// Unmanaged, so that the end can see whether a handle refers to it, too.
  ///
  /// A queued record is its starter's; one that was made here is released by `endHere`.
  fileprivate var record: Unmanaged<Dispatch>?
  /// The completion of a run that began without a record; a queued record has its own.
  var completion: Completion?
  /// A retained reference to the session, until all stores have ended or a round takes over.
  var session: Unmanaged<MiddlewareSession>?
  /// The outcomes by store index; empty while all stores have finished.
  var outcomes: [StoreOutcome] = []
  /// The number of stores that have ended without a call of their reducers; not counted in an atomic run.
  private(set) var skippedCount = 0
  /// The step of the current store, until its end is noted.
  fileprivate var begun: InlineStep?
  /// Whether stores have no hooks and no watcher, all stores have finished so far, and the run is not atomic.
  fileprivate var isPlain = true
  /// Whether the options of a run that began without a record make it atomic.
  private var isMarkedAtomic = false
  /// How the stores of an atomic run have ended, once they have.
  var atomicOutcome: AtomicOutcome?
  /// The store that runs; `noStore` in hooks and in the completion.
  var index = InlineRun.noStore

  typealias Address = UnsafeMutablePointer<InlineRun>
  fileprivate static let noStore = -1

  /// Creates a run for `.sync`, or for a task that has acquired a place.
  init(
    _ action: UnsafeRawPointer, to route: Unmanaged<Route>, of dispatcher: Unmanaged<Dispatcher>?,
    at place: Scheduler? = nil, _ completion: Completion?, _ callSite: CallSite,
    on thread: ThreadState
  ) {
    dispatchID = .make(on: thread)
    self.route = route
    self.action = action
    self.callSite = callSite
    self.dispatcher = dispatcher
    self.place = place.map(Unmanaged.passUnretained)
    if let completion { self.completion = completion }
    outer = thread.run
  }

  /// Creates a run for a dispatch that its scheduler starts, or that is prepared for it.
  init(of record: Dispatch, _ action: UnsafeRawPointer, on thread: ThreadState) {
    dispatchID = record.id
    route = record.route.unsafelyUnwrapped
    self.action = action
    callSite = record.callSite
    (dispatcher, place) = (nil, nil)
    session = record.takeSession().map(Unmanaged.passRetained)
    isPlain = session?._withUnsafeGuaranteedRef(\.followsStores) != true
    self.record = .passUnretained(record)
    outer = thread.run
  }

  // MARK: Context

  /// The innermost context with a record, from a run outwards.
  ///
  /// A run without a record blocks nothing. A task's run that has acquired a place is the exception, and gets a
  /// record here.
  static func recorded(_ innermost: Address?, on thread: ThreadState) -> DispatchContext? {
    var run = innermost
    while let present = run {
      if present.pointee.place != nil { return present.pointee.makeContext(on: thread) }
      if let record = present.pointee.record { return record.takeUnretainedValue() }
      run = present.pointee.outer
    }
    return thread.context
  }

  /// Whether this run or one outside it belongs to a dispatcher that has not refused it.
  static func isInside(of dispatcher: UInt64, _ innermost: Address?) -> Bool {
    var run = innermost
    while let present = run {
      let belongs = present.pointee.route._withUnsafeGuaranteedRef {
        $0.dispatcher == dispatcher && $0.refusal == nil
      }
      if belongs { return true }
      run = present.pointee.outer
    }
    return false
  }

  /// Returns the run's record, and makes it if there is none.
  mutating func makeRecord(on thread: ThreadState) -> Dispatch {
    if let record { return record.takeUnretainedValue() }
    let made = thread.spareDispatches.pop() ?? Dispatch()
    let parent = DispatchContext.dispatchID(of: outer, on: thread)
    made.setUp(dispatchID, parent: parent, to: route, nil, callSite)
    made.beginHere(inside: DispatchContext.around(parent, outer, on: thread))
    record = .passRetained(made)
    if let place { made.enter(place.takeUnretainedValue()) }
    dispatcher?._withUnsafeGuaranteedRef { $0.note(made, .sync, on: thread) }
    return made
  }

  /// Makes the record before the run waits or continues in a round.
  ///
  /// A task's record holds its place from then on.
  ///
  /// Dispatches that come to the place later find the record there. Earlier ones need not, because the run waited for
  /// nothing.
  mutating func makeContext(on thread: ThreadState) -> Dispatch {
    let record = makeRecord(on: thread)
    holdPlace(for: record)
    return record
  }

  mutating func holdPlace(for record: Dispatch) {
    guard task == nil, let place = place?.takeUnretainedValue() else { return }
    let task = TaskScheduler(
      at: place, of: dispatcher.unsafelyUnwrapped.takeUnretainedValue())
    self.task = task
    record.enter(task)
    place.hold(record)
  }

  /// Captures the task-local values that the dispatcher carries, before another thread may run code of the dispatch.
  ///
  /// Not when the record is made: code of the program that needs one may have bound other values. A queued dispatch
  /// has captured them at the call.
  func captureTaskLocals(for record: Dispatch) {
    dispatcher?._withUnsafeGuaranteedRef {
      if $0.carriesTaskLocals, record.carried == nil { record.carried = $0.captureTaskLocals() }
    }
  }

  /// Captures the values before a store's own code, which may bind others around its changes.
  mutating func captureTaskLocals(on thread: ThreadState) {
    guard dispatcher?._withUnsafeGuaranteedRef(\.carriesTaskLocals) == true else { return }
    captureTaskLocals(for: makeRecord(on: thread))
  }

  /// Whether this run belongs to the dispatch that owns a commit.
  func isOf(_ owner: any CommitOwner) -> Bool {
    record?.toOpaque() == Unmanaged.passUnretained(owner as AnyObject).toOpaque()
  }

  /// The dispatcher, while a store runs that does more than reduce.
  var runningDispatcher: Dispatcher? {
    dispatcher?.takeUnretainedValue() ?? record?.takeUnretainedValue().runningDispatcher
  }

  /// Whether a store runs; false in hooks and in the completion.
  var isInStore: Bool { index != Self.noStore }

  /// The dispatch that owns the commits of this run, while a store runs.
  mutating func owner(on thread: ThreadState) -> (any CommitOwner)? {
    if record == nil, isPlanted(.noRecord) { return thread.context?.owner }
    return makeRecord(on: thread)
  }

  /// The action, if this store runs.
  func action<Model, Action>(in store: Store<Model, Action>) -> Action? {
    guard isInStore, route._withUnsafeGuaranteedRef({ $0.entries[index].store === store }) else {
      return nil
    }
    return route._withUnsafeGuaranteedRef {
      $0.entries[index].action(at: action, as: Action.self)
    }
  }

  /// The results of the stores that the current store has waited for; empty in code of any other store.
  func prerequisiteResults(of store: any StoreType) -> [StoreResult] {
    guard isInStore else { return [] }
    return route._withUnsafeGuaranteedRef { route in
      guard route.entries[index].store === store else { return [] }
      return route.prerequisiteResults(at: index, outcomes)
    }
  }

  /// The identifier of the store that runs; nil in hooks and in the completion.
  var storeIdentifier: String? {
    index == Self.noStore ? nil : route._withUnsafeGuaranteedRef { $0.identifiers[index] }
  }

  /// Whether dispatches of the current store are not cancelled with this dispatch.
  var runsRegardless: Bool { route._withUnsafeGuaranteedRef { $0.runsRegardless[index] } }

  /// The record, if others can cancel the dispatch; nil if only its outer context can be cancelled.
  mutating func recordToCancel(on thread: ThreadState) -> Dispatch? {
    if place != nil, thread.exclusive == nil { return makeContext(on: thread) }
    guard let record = record?.takeUnretainedValue() else { return nil }
    let isLinked = isScheduled || !record.mayLink
    // An action of a `.sync` list is cancelled with the list.
    let isDecisive = isLinked || record.details?.isCancellable == true || record.isCancelled
    return isDecisive ? record : nil
  }

  /// Returns the record, linked to the dispatch whose block runs around this run.
  ///
  /// Dispatches made here then descend from that one, too.
  mutating func linkedRecord(on thread: ThreadState) -> Dispatch {
    let record = makeContext(on: thread)
    if isScheduled {
      record.linkToCaller()
    } else {
      record.link(to: DispatchContext.linkedBlock(from: outer, on: thread))
    }
    return record
  }

  // MARK: Progress

  /// Makes a run atomic that has no record.
  mutating func becomeAtomic() {
    isMarkedAtomic = true
    isPlain = false
  }

  /// Whether all stores change, or none.
  var isAtomic: Bool {
    isMarkedAtomic || route._withUnsafeGuaranteedRef(\.isAtomic)
      || record?._withUnsafeGuaranteedRef { $0.withDetails { $0.isAtomic(along: route) } } == true
  }

  /// The companions whose rows are part of an atomic action's commit; none for most.
  var companions: [DispatchCompanion] {
    record?._withUnsafeGuaranteedRef { $0.withDetails(\.companions) } ?? []
  }

  /// Notes that the current store has begun.
  fileprivate mutating func noteBegun(_ step: InlineStep) {
    begun = step
    isPlain = false
  }

  /// Whether the next store needs no check of verdicts, outcomes or a cancellation.
  fileprivate var isUndisturbed: Bool { isPlain && hasNoDetails }

  /// Whether nothing can have cancelled it, and no deadline is to be compared.
  var hasNoDetails: Bool {
    guard let record else { return true }
    return record._withUnsafeGuaranteedRef { !$0.hasDetails }
  }

  /// Whether the stores can't run one after the other in the order of their indices; false in a task.
  fileprivate var needsConcurrentOrder: Bool {
    place == nil && route._withUnsafeGuaranteedRef { !$0.isPlainConcurrently }
      && record?._withUnsafeGuaranteedRef(\.runsConcurrently) == true
  }

  fileprivate mutating func takeCompletion() -> Completion? {
    record?._withUnsafeGuaranteedRef { $0.completion.take() } ?? completion.take()
  }

  /// Whether only the end of a `.sync` run is left: all stores before this position have finished, and it is the
  /// last.
  fileprivate func isDone(at position: Int) -> Bool {
    isPlain && completion == nil && record == nil && session == nil
      && route._withUnsafeGuaranteedRef { position == $0.count && !$0.hasFailed }
  }

  mutating func note(_ outcome: StoreOutcome, at index: Int, of route: Route) {
    if outcomes.isEmpty { outcomes = Array(repeating: .finished, count: route.count) }
    outcomes[index] = outcome
    isPlain = false
  }

  /// Skips the current store, which ends with this outcome.
  fileprivate mutating func skip(_ outcome: StoreOutcome) -> InlineStep {
    skippedCount += 1
    return .ended(outcome)
  }

  /// Notes that the first store starts, if whole dispatches have hooks.
  fileprivate func noteFirstStart() {
    session?._withUnsafeGuaranteedRef { if $0.hasWholes { $0.noteFirstStart(at: $0.now) } }
  }

  /// Notes that a store starts; returns false if the dispatch has ended at its deadline.
  func claimStoreStart() -> Bool {
    record?._withUnsafeGuaranteedRef { $0.withDetails { $0.claimStoreStart() } } ?? true
  }

  /// Whether the result may come before the end of the stores.
  fileprivate var mayEndEarly: Bool {
    record?._withUnsafeGuaranteedRef { $0.withDetails(\.mayEndEarly) } == true
  }

  /// Whether it runs at a scheduler: no caller waits for it.
  var isScheduled: Bool {
    place != nil || record?._withUnsafeGuaranteedRef { !$0.isSynchronous } == true
  }

  /// Whether a failed store may be retried, which only a round can do.
  fileprivate var mayRetry: Bool {
    record?._withUnsafeGuaranteedRef {
      $0.withDetails { $0.retry != nil } == true && !$0.isCancelled
    }
      == true
  }

  /// Whether it was queued, by a caller that did not wait.
  fileprivate var isQueued: Bool {
    place == nil && record?._withUnsafeGuaranteedRef { !$0.isSynchronous && !$0.isOfTask } == true
  }

  var isCancelled: Bool {
    record?._withUnsafeGuaranteedRef(\.isCancelled) == true
  }

  fileprivate var hasFinished: Bool {
    outcomes.isEmpty && route._withUnsafeGuaranteedRef { !$0.hasFailed }
  }

  fileprivate var result: DispatchResult { result(of: record?.takeUnretainedValue()) }

  /// The result at the deadline if the dispatch has ended then, or else that of its stores.
  fileprivate var publishedResult: DispatchResult { record?.takeUnretainedValue().result ?? result }

  /// - Parameter record: The run's record, which the end has taken from it.
  fileprivate func result(of record: Dispatch?) -> DispatchResult {
    let details = record?.details
    return route._withUnsafeGuaranteedRef { route in
      DispatchResult(
        dispatchID: dispatchID, identifiers: route.identifiers, outcomes: outcomes,
        replies: details?.replies ?? [:],
        // An atomic action that has failed was undone.
        hasBegun: atomicOutcome == nil && skippedCount < route.count
          && outcomes.contains(where: \.mayHaveStarted),
        // The reason of a cancellation because of a deadlock or a timeout.
        error: details?.withState(\.refusal) ?? route.failure ?? atomicOutcome?.error)
    }
  }
}

// MARK: - Before the stores

extension InlineRun.Address {
  /// Prepares the run on the dispatching thread, before the stores: refines their order, and calls middlewares.
  ///
  /// - Returns: The task-local values to bind, if middlewares have bound some.
  func prepare(
    _ action: @autoclosure () -> any ActionType, to storeIdentifier: String?,
    in mode: Dispatcher.Mode, by dispatcher: Dispatcher, on thread: ThreadState
  ) -> CapturedTaskLocal? {
    let outer = thread.run
    thread.run = self
    defer { thread.run = outer }
    let action = action()
    let startsAtOnce = pointee.record == nil
    if startsAtOnce, pointee.route._withUnsafeGuaranteedRef(\.isAtomic) { pointee.becomeAtomic() }
    let chain = pointee.route._withUnsafeGuaranteedRef(\.chainForHooks)
    if let chain {
      let session = MiddlewareSession.begin(
        action, chain, pointee.dispatchID, parent: parent(on: thread),
        isStep: pointee.record?.takeUnretainedValue().isStep == true, mode, pointee.callSite,
        by: dispatcher, on: thread)
      pointee.session = session
      if session._withUnsafeGuaranteedRef(\.followsStores) { pointee.isPlain = false }
      if session._withUnsafeGuaranteedRef(\.hasWholes),
        let bound = callWholeHooks(of: session, by: dispatcher, on: thread)
      {
        bound.bind {
          prepareStores(action, to: storeIdentifier, startsAtOnce, by: dispatcher, on: thread)
        }
        return bound
      }
    }
    prepareStores(action, to: storeIdentifier, startsAtOnce, by: dispatcher, on: thread)
    return nil
  }

  private func prepareStores(
    _ action: any ActionType, to storeIdentifier: String?, _ startsAtOnce: Bool,
    by dispatcher: Dispatcher, on thread: ThreadState
  ) {
    if pointee.route._withUnsafeGuaranteedRef(\.mayChange) {
      refineRoute(for: action, to: storeIdentifier, by: dispatcher, on: thread)
    }
    pointee.session?._withUnsafeGuaranteedRef { session in
      pointee.route._withUnsafeGuaranteedRef {
        session.willDispatch(action, along: $0, startsAtOnce: startsAtOnce)
      }
    }
  }

  /// Calls the hooks of the whole dispatch, and lets other threads watch it.
  ///
  /// - Returns: The task-local values to bind, if the hooks have bound some.
  @inline(never)
  private func callWholeHooks(
    of session: Unmanaged<MiddlewareSession>, by dispatcher: Dispatcher, on thread: ThreadState
  ) -> CapturedTaskLocal? {
    let bound = session._withUnsafeGuaranteedRef {
      if $0.isWatched { $0.watch(pointee.makeRecord(on: thread)) }
      return $0.dispatchBegan()
    }
    if bound.isEmpty { return nil }
    let record = pointee.makeRecord(on: thread)
    record.bind(bound, by: dispatcher)
    return record.bound
  }

  /// Prepares a queued dispatch, which keeps the session.
  func prepare(
    _ record: Dispatch, _ action: any ActionType, to storeIdentifier: String?,
    in mode: Dispatcher.Mode, by dispatcher: Dispatcher, on thread: ThreadState
  ) {
    // A `.sync` dispatch knows its caller. After a delay, its own context is around its hooks, too.
    let isWithCaller = mode.isSync && !record.isStep
    let outer = isWithCaller ? record.outer : DispatchContext.enclosing(thread.run, on: thread)
    record.keep(outer: isPlanted(.hookOutside) ? nil : outer)
    _ = prepare(action, to: storeIdentifier, in: mode, by: dispatcher, on: thread)
    if let session = pointee.session.take() {
      session._withUnsafeGuaranteedRef { $0.keepAlive() }
      record.keep(session.takeRetainedValue())
    }
    // The code that dispatches was around the hooks. It is not around the stores, which run elsewhere; only a `.sync`
    // caller waits for them, and for its turn before.
    if !mode.isSync { record.keep(outer: nil) }
  }

  private func parent(on thread: ThreadState) -> DispatchID? {
    if let record = pointee.record { return record.takeUnretainedValue().parent }
    return DispatchContext.dispatchID(of: pointee.outer, on: thread)
  }

  /// Leaves out weakly held stores that are gone, and takes the order that reducers ask for.
  private func refineRoute(
    for action: any ActionType, to storeIdentifier: String?, by dispatcher: Dispatcher,
    on thread: ThreadState
  ) {
    var route = pointee.route.takeUnretainedValue()
    while route.hasWeakStores, dispatcher.unregisterGone(route.registered) {
      replaceRoute(
        by: dispatcher.route(
          to: type(of: action), identifier: storeIdentifier, isAccepted: true, on: thread))
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
    pointee.record?._withUnsafeGuaranteedRef { $0.route = route }
    former._withUnsafeGuaranteedRef { $0.end() }
  }
}

// MARK: - The stores

extension InlineRun.Address {
  /// Runs a `.sync` dispatch.
  ///
  /// Most go to stores that only reduce. `reduce` takes the action to these, one after the other.
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

  /// Takes the action to the first stores, which only reduce and need no record.
  ///
  /// Returns the position of the next store, which may have begun.
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
          pointee.noteBegun(route.reduceObserved(action, at: position, on: thread))
        case .failed(let error): pointee.noteBegun(.ended(.of(thrown: error)))
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

  /// Continues with the stores from a position.
  ///
  /// Runs the completion once all have ended.
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
      let isAtomic = pointee.isAtomic
      if first == 0, route.count > 0,
        isAtomic && pointee.mayRetry
          || (route.endGate != nil || route.count > 1 && pointee.mayEndEarly)
            && !pointee.isCancelled
      {
        return InlineRemainder(position: 0, order: nil, begun: nil)
      }
      if isAtomic { return runAtomically(route, on: thread) }
      if first == 0, route.count > 0, pointee.isUndisturbed { pointee.noteFirstStart() }
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
      var lastStarted = first > 0 ? first - 1 : nil
      for position in first..<route.count {
        let index = order?[position] ?? position
        pointee.index = index
        let step: InlineStep
        if pointee.isUndisturbed {
          lastStarted = index
          step = route.answer(pointee.action, at: index, in: self, on: thread)
        } else if let answer = answer(at: index, of: route, &lastStarted, on: thread) {
          step = answer
        } else {
          return InlineRemainder(position: position, order: order, begun: nil)
        }
        if case .finished = step, pointee.isUndisturbed { continue }
        let failed = if case .ended(.failed) = step { lastStarted == index } else { false }
        guard !(failed && pointee.mayRetry),
          end(step, at: index, of: route, isLast: position + 1 == route.count)
        else {
          return InlineRemainder(position: position, order: order, begun: (index, step))
        }
      }
      return nil
    }
  }

  /// Returns the answer of a store that may be skipped, because of a verdict, an earlier failure or a cancellation.
  ///
  /// Nil if the store runs although the dispatch is cancelled. A round then runs it, and does not cancel it.
  ///
  /// - Parameter lastStarted: The last store whose reducer was called.
  private func answer(
    at index: Int, of route: Route, _ lastStarted: inout Int?, on thread: ThreadState
  ) -> InlineStep? {
    let reply = pointee.session?._withUnsafeGuaranteedRef { $0.reply(at: index) }
    if let decided = reply?.outcome { return pointee.skip(decided) }
    if pointee.isCancelled {
      return lastStarted != nil && route.runsRegardless[index]
        ? nil : pointee.skip(.cancelled(hasStarted: false))
    }
    if !pointee.outcomes.isEmpty,
      let error = route.dependencyFailure(at: index, pointee.outcomes)
    {
      return pointee.skip(.failed(error))
    }
    guard pointee.claimStoreStart() else {
      return lastStarted != nil && route.runsRegardless[index]
        ? nil : pointee.skip(.cancelled(hasStarted: false))
    }
    lastStarted = index
    pointee.session?._withUnsafeGuaranteedRef { $0.start(index) }
    guard let reply else { return route.answer(pointee.action, at: index, in: self, on: thread) }
    let dispatched = pointee.action
    defer { pointee.action = dispatched }
    return withAddress(of: reply.action) { address in
      pointee.action = address
      return route.answer(address, at: index, in: self, on: thread)
    }
  }

  /// Notes how a store ended and calls `didDispatch`; returns false if it has not ended.
  func end(
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
    if isLast { pointee.record?._withUnsafeGuaranteedRef { $0.settleDeadline() } }
    pointee.session?._withUnsafeGuaranteedRef {
      $0.didDispatch(outcome, at: index, along: route)
    }
    return true
  }

  private func complete(on thread: ThreadState) {
    pointee.record?._withUnsafeGuaranteedRef { $0.storesEnded { pointee.result } }
    if let completion = pointee.takeCompletion() { completion.run(pointee.result) }
    guard let session = pointee.session.take() else { return }
    session._withUnsafeGuaranteedRef { if $0.hasWholes { end($0, on: thread) } }
    MiddlewareSession.end(session, on: thread)
  }

  /// Calls the hooks of the whole dispatch, and begins its followers.
  @inline(never)
  private func end(_ session: MiddlewareSession, on thread: ThreadState) {
    if session.followers.isEmpty { return session.dispatchEnded(pointee.publishedResult) }
    // Read once: an early end may be published at any time.
    let published = pointee.publishedResult
    session.dispatchEnded(published)
    let ended = EndedDispatch(session, published, ofStores: pointee.result) {
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
      let handle = DispatchHandle(finished: pointee.dispatchID, route)
      route.end()
      return handle
    }
  }

  /// Ends a `.sync` dispatch.
  ///
  /// If it did not simply finish, it gets a record.
  private func endHere(_ remainder: InlineRemainder?, on thread: ThreadState) -> DispatchHandle {
    if pointee.record == nil {
      if remainder == nil, pointee.hasFinished { return endFinished() }
      _ = pointee.makeRecord(on: thread)
    }
    let finished = pointee.route._withUnsafeGuaranteedRef {
      DispatchHandle(finished: pointee.dispatchID, $0)
    }
    var record = pointee.record.take().unsafelyUnwrapped.takeRetainedValue()
    switch end(&record, remainder, on: thread) {
    case .reusable:
      thread.spareDispatches.push(record)
      return finished
    case .ended:
      pointee.task?.release(record)
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
      if record.hasDetails { record.releaseDetails() }
      return .reusable
    }
    record.end(pointee.result(of: record))
    return .ended
  }
}
