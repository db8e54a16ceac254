/// Takes one action through its stores on this thread, store after store, as long as each ends at once.
///
/// A value on the stack, and the context of all code that runs there: hooks, reducers, observers and the
/// completion. It serves every mode. A queued dispatch has a record; `.sync` begins without one, since no
/// other thread can know the dispatch. Its record is made where code needs what only a record has: an
/// operation, the owner of an observed commit, what a wait holds up. Only the thread that runs it has
/// access, by the address in its `ThreadState`.
struct InlineRun {
  let transaction: TransactionID
  /// The stores; the record has the outstanding use of it, or the run where there is no record.
  fileprivate var route: Unmanaged<Route>
  /// The address of the action that the present store gets.
  fileprivate var action: UnsafeRawPointer
  fileprivate let callSite: CallSite
  /// Of a run that begins without a record.
  fileprivate let dispatcher: Unmanaged<Dispatcher>?
  /// The run around this one on this thread, with no other context between them.
  fileprivate let outer: Address?
  /// Unmanaged, so that the end can see whether a handle refers to it too. A queued record is its starter's;
  /// one that was made here is released by `endHere`.
  fileprivate var record: Unmanaged<Dispatch>?
  fileprivate var completion: Completion?
  fileprivate var session: MiddlewareSession?
  /// By store index; empty while all have finished.
  fileprivate var outcomes: [StoreOutcome] = []
  /// The store whose part runs; `noStore` in hooks and in the completion.
  fileprivate var index = InlineRun.noStore

  typealias Address = UnsafeMutablePointer<InlineRun>
  fileprivate static let noStore = -1

  /// For `.sync`.
  init(
    _ action: UnsafeRawPointer, to route: Unmanaged<Route>, of dispatcher: Dispatcher,
    _ completion: Completion?, _ callSite: CallSite, on thread: ThreadState
  ) {
    transaction = .make(on: thread)
    self.route = route
    self.action = action
    self.callSite = callSite
    self.dispatcher = .passUnretained(dispatcher)
    self.completion = completion
    outer = thread.run
  }

  /// For a dispatch that its scheduler starts, or that is prepared for it.
  init(of record: Dispatch, _ action: UnsafeRawPointer, on thread: ThreadState) {
    transaction = record.id
    route = record.route.unsafelyUnwrapped
    self.action = action
    callSite = record.callSite
    dispatcher = nil
    completion = record.takeCompletion()
    session = record.takeSession()
    self.record = .passUnretained(record)
    outer = thread.run
  }

  // MARK: Context

  /// The innermost context on this thread that has a record: runs without one hold nothing up.
  static func recorded(on thread: ThreadState) -> DispatchContext? {
    var run = thread.run
    while let present = run {
      if let record = present.pointee.record { return record.takeUnretainedValue() }
      run = present.pointee.outer
    }
    return thread.context
  }

  /// The run's record, made where there is none.
  mutating func makeRecord(on thread: ThreadState) -> Dispatch {
    if let record { return record.takeUnretainedValue() }
    let made = thread.spareDispatches.pop() ?? Dispatch()
    let present = thread.run
    thread.run = outer
    let parent = DispatchContext.currentTransaction(on: thread)
    made.begin(transaction, parent: parent, to: route, nil, callSite)
    made.beginHere(inside: DispatchContext.around(parent, on: thread))
    thread.run = present
    record = .passRetained(made)
    dispatcher?._withUnsafeGuaranteedRef { $0.note(made, .sync, on: thread) }
    return made
  }

  /// On whose behalf its code changes stores; nil in hooks and in the completion.
  mutating func owner(on thread: ThreadState) -> (any CommitOwner)? {
    if index == Self.noStore { return nil }
    if record == nil, isPlanted(.noRecord) { return thread.context?.owner }
    return makeRecord(on: thread)
  }

  /// The action, where the part of this store runs for the record.
  func action<Model, Action>(
    of record: Dispatch, in store: Store<Model, Action>
  ) -> Action? {
    guard index != Self.noStore, self.record?.takeUnretainedValue() === record,
      route._withUnsafeGuaranteedRef({ $0.entries[index].store === store })
    else { return nil }
    return action.assumingMemoryBound(to: Action.self).pointee
  }

  // MARK: What it knows

  /// Whether the next store needs no look at verdicts, outcomes or a cancellation.
  fileprivate var isPlain: Bool {
    session == nil && outcomes.isEmpty
      && record?._withUnsafeGuaranteedRef { $0.details == nil } != false
  }

  fileprivate var isCancelled: Bool {
    record?._withUnsafeGuaranteedRef(\.isCancelled) == true
  }

  fileprivate var hasFinished: Bool {
    outcomes.isEmpty && route._withUnsafeGuaranteedRef { $0.failure == nil }
  }

  fileprivate var result: DispatchResult {
    route._withUnsafeGuaranteedRef { route in
      DispatchResult(
        transaction: transaction, identifiers: route.identifiers, outcomes: outcomes,
        error: route.failure)
    }
  }
}

// MARK: - Before the stores

extension InlineRun.Address {
  /// Does what comes before the stores, on the dispatching thread: refines their order, and calls witnesses
  /// and middlewares.
  func prepare(
    _ action: @autoclosure () -> any ActionType, to storeIdentifier: String?,
    in mode: Dispatcher.Mode, by dispatcher: Dispatcher, on thread: ThreadState
  ) {
    let outer = thread.run
    thread.run = self
    defer { thread.run = outer }
    let action = action()
    let chain = pointee.route.takeUnretainedValue().chain
    if !chain.middlewares.isEmpty {
      let context = MiddlewareContext(
        id: pointee.transaction, dispatcher: dispatcher, parent: parent(on: thread), mode: mode,
        callSite: pointee.callSite)
      pointee.session = MiddlewareSession(of: action, chain, in: context)
    }
    pointee.session?.dispatchBegan()
    refineRoute(for: action, to: storeIdentifier, by: dispatcher, on: thread)
    let route = pointee.route.takeUnretainedValue()
    if route.hasMiddleware { pointee.session?.willDispatch(to: route.entries) }
  }

  /// The same for a queued dispatch, which keeps what was prepared.
  func prepare(
    _ record: Dispatch, _ action: any ActionType, to storeIdentifier: String?,
    in mode: Dispatcher.Mode, by dispatcher: Dispatcher, on thread: ThreadState
  ) {
    record.keep(outer: InlineRun.recorded(on: thread))
    prepare(action, to: storeIdentifier, in: mode, by: dispatcher, on: thread)
    record.keep(pointee.session)
    record.keep(pointee.completion)
  }

  fileprivate func parent(on thread: ThreadState) -> TransactionID? {
    if let record = pointee.record { return record.takeUnretainedValue().parent }
    thread.run = pointee.outer
    defer { thread.run = self }
    return DispatchContext.currentTransaction(on: thread)
  }

  /// Leaves out weakly held stores that are gone, and takes the order from what reducers say.
  fileprivate func refineRoute(
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
      replaceRoute(by: .passUnretained(refined))
    }
  }

  fileprivate func replaceRoute(by route: Unmanaged<Route>) {
    let former = pointee.route
    pointee.route = route
    pointee.record?._withUnsafeGuaranteedRef { $0.keep(route) }
    former._withUnsafeGuaranteedRef { $0.end() }
  }
}

// MARK: - The stores

extension InlineRun.Address {
  /// Runs a `.sync` dispatch.
  func runHere(on thread: ThreadState) -> DispatchHandle {
    let remainder = run(on: thread)
    if remainder == nil, pointee.record == nil, pointee.hasFinished {
      return pointee.route._withUnsafeGuaranteedRef { route in
        let handle = DispatchHandle(finished: pointee.transaction, route)
        route.end()
        return handle
      }
    }
    return endHere(remainder, on: thread)
  }

  /// Runs a dispatch that its scheduler has started.
  ///
  /// - Parameter record: The caller's only reference.
  func run(_ record: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    let remainder = run(on: thread)
    return end(&record, remainder, on: thread)
  }

  fileprivate func run(on thread: ThreadState) -> InlineRemainder? {
    thread.run = self
    let remainder = runStores(on: thread)
    pointee.index = InlineRun.noStore
    if remainder == nil {
      complete()
    } else if isPlanted(.completionTwice) {
      pointee.completion?.run(pointee.result)
    }
    thread.run = pointee.outer
    return remainder
  }

  fileprivate func runStores(on thread: ThreadState) -> InlineRemainder? {
    pointee.route._withUnsafeGuaranteedRef { route in
      var order: [Int]?
      if let record = pointee.record, record._withUnsafeGuaranteedRef(\.runsConcurrently) {
        guard route.isInlineConcurrently || pointee.isCancelled else {
          return InlineRemainder(position: 0, order: nil, begun: nil)
        }
        order = route.concurrentOrder
      }
      for position in 0..<route.count {
        let index = order?[position] ?? position
        pointee.index = index
        let step =
          pointee.isPlain
          ? route.answer(pointee.action, at: index, in: self, on: thread)
          : answer(at: index, of: route, on: thread)
        if case .finished = step, pointee.isPlain { continue }
        guard end(step, at: index, of: route) else {
          return InlineRemainder(position: position, order: order, begun: (index, step))
        }
      }
      return nil
    }
  }

  /// The answer of a store that may have no turn: after a verdict, a failure before it, or a cancellation.
  fileprivate func answer(at index: Int, of route: Route, on thread: ThreadState) -> InlineStep {
    let reply = pointee.session?.reply(at: index)
    if let decided = reply?.outcome { return .ended(decided) }
    if pointee.isCancelled { return .ended(.cancelled) }
    if !pointee.outcomes.isEmpty,
      let error = route.dependencyFailure(at: index, pointee.outcomes)
    {
      return .ended(.failed(error))
    }
    guard let reply else { return route.answer(pointee.action, at: index, in: self, on: thread) }
    let dispatched = pointee.action
    defer { pointee.action = dispatched }
    return withAddress(of: reply.action) { address in
      pointee.action = address
      return route.answer(address, at: index, in: self, on: thread)
    }
  }

  /// Notes how a store's part ended and calls `didDispatch`; false where it has not ended.
  fileprivate func end(_ step: InlineStep, at index: Int, of route: Route) -> Bool {
    if pointee.record?.takeUnretainedValue().details?.hasUndeliveredCommits == true { return false }
    var outcome = StoreOutcome.finished
    switch step {
    case .finished:
      break
    case .ended(let ended):
      if pointee.outcomes.isEmpty {
        pointee.outcomes = Array(repeating: .finished, count: route.count)
      }
      pointee.outcomes[index] = ended
      outcome = ended
    case .goesOn:
      return false
    }
    pointee.index = InlineRun.noStore
    pointee.session?.didDispatch(outcome, at: index, in: route.entries[index].storeForHooks)
    return true
  }

  fileprivate func complete() {
    if let completion = pointee.completion.take() { completion.run(pointee.result) }
    pointee.session?.dispatchEnded(pointee.result)
  }

  // MARK: The end

  /// Ends a `.sync` dispatch that has a record, or whose result needs one.
  fileprivate func endHere(_ remainder: InlineRemainder?, on thread: ThreadState) -> DispatchHandle {
    _ = pointee.makeRecord(on: thread)
    let finished = DispatchHandle(
      finished: pointee.transaction, pointee.route.takeUnretainedValue())
    var record = pointee.record.take().unsafelyUnwrapped.takeRetainedValue()
    switch end(&record, remainder, on: thread) {
    case .reusable:
      thread.spareDispatches.push(record)
      return finished
    case .ended:
      break
    case .goesOn:
      record.details?.loop?.runToEnd(of: record, on: thread)
    }
    return DispatchHandle(record)
  }

  fileprivate func end(
    _ record: inout Dispatch, _ remainder: InlineRemainder?, on thread: ThreadState
  ) -> InlineEnd {
    if let remainder {
      record.keep(pointee.completion.take())
      goOn(with: record, from: remainder, on: thread)
      return .goesOn
    }
    // In this order: once there is no other reference, no other thread can make details.
    if pointee.hasFinished, isUniquelyReferencedForReuse(&record), record.details == nil {
      record.clear()
      return .reusable
    }
    record.end(pointee.result)
    return .ended
  }

  /// Goes on in a round with what is left.
  fileprivate func goOn(
    with record: Dispatch, from remainder: InlineRemainder, on thread: ThreadState
  ) {
    let route = pointee.route.takeUnretainedValue()
    var ended = [StoreOutcome?](repeating: nil, count: route.count)
    for position in 0..<remainder.position {
      let index = remainder.order?[position] ?? position
      ended[index] = pointee.outcomes.isEmpty ? .finished : pointee.outcomes[index]
    }
    let session = pointee.session
    let dispatcher = session?.dispatcher ?? pointee.dispatcher?.takeUnretainedValue()
    let action = session?.action ?? copyAction(route.entries[0].actionType, at: pointee.action)
    let details = record.makeDetails(forRoundsOf: dispatcher, on: thread)
    let round = Round(
      of: record, action, to: route, session, ended: ended, begun: remainder.begun?.index)
    if details.begin(round, at: remainder.begun?.index ?? 0) { round.cancel() }
    record.begin(round, after: remainder)
  }
}
