import Synchronization

/// The destinations of an action: the stores that respond, in order, and all that can be worked out once about them.
///
/// A route is worked out once, and kept in the registry until a change affects it. Each thread that uses it has a
/// copy. Dispatches refer to the copy without a reference count, a cache line that producers and consumers would both
/// write. Instead, the thread counts its outstanding dispatches, and consumers count those that have ended, each in a
/// cache line of its own. A retired copy is released once both counts are equal.
final class Route: @unchecked Sendable {
  // because what changes is atomic
  // The properties that each dispatch reads come first, in one cache line: with 100,000 routes used in turn, each
  // line is fetched from memory.
  /// The store's identifier, if there is only one store.
  let onlyIdentifier: String?
  /// The calls of the first store's reducer, which its target has, too.
  private let firstCalls: Unmanaged<ReducerCalls>?
  /// Targets, by store index.
  private let targets: UnsafeMutablePointer<Target>
  private let storeCount: UInt32
  private let plainCount: UInt32
  /// Whether a dispatch has work to do before its stores.
  ///
  /// The work: begin a session, refine the order, look for weakly held stores, or end with an error.
  let needsPreparation: Bool
  /// Whether a dispatch can run no store, unless its own route differs.
  let hasFailed: Bool
  /// Whether no dispatch can run a store, whatever its own route may be.
  var hasFailedForAll: Bool { hasFailed && !mayChange }
  /// Whether the action's type is an `AtomicAction`.
  let isAtomic: Bool
  /// Whether all stores answer by a reduction, also weakly owned ones.
  let areReductions: Bool
  /// Whether the stores run one after the other on the concurrent queue, too: none that may block delays another.
  var isInlineConcurrently: Bool { areReductions || count < 2 }
  /// Whether a store may block its thread, since it answers by more than a reduction.
  func mayBlock(at index: Int) -> Bool { entries[index].overrides.answer != .reduction }
  /// Whether no registered store responds.
  var isUnanswered: Bool { registered.isEmpty }
  var count: Int { Int(truncatingIfNeeded: storeCount) }
  /// The number of stores, from the first on, that only reduce, each by itself; 0 if the action is atomic, or its end
  /// has a gate.
  var reductionCount: Int { Int(truncatingIfNeeded: plainCount) }

  /// Whether all stores only reduce, also those that run only if the dispatch's own route differs.
  let onlyReduces: Bool
  /// Whether an action with companions is atomic.
  var isAtomicWithCompanions: Bool { areReductions && count > 0 }
  /// The gate at which dispatches wait after their stores, until the stores' commits are saved; nil for most.
  ///
  /// Also that of stores that run only if the dispatch's own route differs.
  let endGate: EndGate?

  /// Whether the route leads to one store, which only reduces.
  var isReduction: Bool { count == 1 && reductionCount == 1 && !needsPreparation }

  /// The entries that respond, in the order in which they run.
  let entries: [StoreEntry]
  /// The order of the stores.
  let graph: StoreGraph
  var identifiers: [String] { graph.identifiers }
  var prerequisites: [[Int]]? { graph.prerequisites }
  var runsRegardless: [Bool] { graph.runsRegardless }
  /// The entries that respond, in order of registration; a refined order is worked out from these.
  let registered: [StoreEntry]
  let chain: MiddlewareChain
  /// The chain if it has something to call, without a reference count; it exists as long as the route.
  var chainForHooks: Unmanaged<MiddlewareChain>? {
    chain.isEmpty ? nil : .passUnretained(chain)
  }
  /// The number of the dispatcher.
  let dispatcher: UInt64
  /// The generation of the route's dispatches.
  ///
  /// Kept until the last dispatch that uses the route has ended, rather than as long as others refer to the route.
  fileprivate let generation: Unmanaged<DispatchGeneration>

  /// The generation, which does not end before the caller has released it.
  var presentGeneration: DispatchGeneration { generation.takeUnretainedValue() }

  /// The error that ends each dispatch: the stores can't be ordered, the identifier is unknown, or the dispatcher is
  /// closed.
  let failure: DispatchError?
  /// The error if the dispatcher is closed or paused, so that a dispatch is refused at the call.
  var refusal: DispatchError? {
    guard hasFailed, let code = failure?.code else { return nil }
    return code == .dispatcherClosed || code == .dispatcherPaused ? failure : nil
  }
  /// The declared prerequisites under which no store was ever registered.
  private let unknown: Set<String>
  /// Whether there are declared prerequisites under which no store was ever registered.
  var isIncomplete: Bool { !unknown.isEmpty }
  let hasRefinements: Bool
  let hasWeakStores: Bool
  /// Whether a dispatch may get a route of its own: without stores that are gone, or in a refined order.
  var mayChange: Bool { hasWeakStores || hasRefinements }
  /// The route that owns `targets`, if this is a thread's copy.
  private let original: Route?

  /// The parts of an entry that an inline run needs; the entry owns them.
  private struct Target {
    let kind: ReducerAnswer
    /// The reducer's calls; nil, as is `store`, if the store is held weakly.
    let calls: Unmanaged<ReducerCalls>?
    let store: Unmanaged<AnyObject>?
    let entry: Unmanaged<StoreEntry>

    init(_ entry: StoreEntry) {
      self.entry = .passUnretained(entry)
      kind = entry.overrides.answer
      calls = entry.calls.map(Unmanaged.passUnretained)
      store = entry.object.map(Unmanaged.passUnretained)
    }
  }

  /// Keeps the count below in a cache line that dispatching threads do not read.
  private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (
    0, 0, 0, 0, 0, 0, 0, 0
  )
  /// The number of ended uses; after retirement, minus the uses that were outstanding.
  ///
  /// 64 bits wide, since it must not wrap.
  private let ended = Atomic<Int64>(0)

  /// - Parameters:
  ///   - registered: The stores in order of registration.
  ///   - waitFor: The prerequisites of each store; by default as declared.
  init(
    _ registered: [StoreEntry], waitFor: [WaitFor]? = nil, chain: MiddlewareChain,
    unknown: Set<String> = [], failure: DispatchError? = nil, isAtomic: Bool = false,
    in generation: DispatchGeneration
  ) {
    self.isAtomic = isAtomic
    dispatcher = generation.dispatcher
    self.generation = .passRetained(generation)
    let waits = waitFor ?? registered.map(\.waitFor)
    self.unknown = unknown
    var (order, failure): (WaitOrder?, DispatchError?) = (nil, failure)
    do {
      order = try WaitOrder(registered.map(\.identifier), waits, unknown: unknown)
    } catch {
      failure = error
    }
    self.failure = failure
    hasFailed = failure != nil
    self.registered = registered
    self.chain = chain
    entries = failure == nil ? order.map { $0.order.map { registered[$0] } } ?? [] : []
    let identifiers = entries.map(\.identifier)
    let prerequisites = failure == nil ? order?.prerequisitesInOrder : nil
    onlyIdentifier = identifiers.count == 1 ? identifiers[0] : nil
    graph = StoreGraph(
      identifiers, prerequisites: prerequisites,
      runsRegardless: order.map { $0.order.map { waits[$0].runsRegardless } } ?? [])
    // A refined order is not refined again.
    hasRefinements = waitFor == nil && registered.contains { $0.overrides.waitFor }
    hasWeakStores = registered.contains { $0.ownership == .weak }
    needsPreparation = failure != nil || hasRefinements || hasWeakStores || !chain.isEmpty
    areReductions = entries.allSatisfy { $0.overrides.answer == .reduction }
    original = nil
    storeCount = UInt32(entries.count)
    targets = .allocate(capacity: entries.count)
    for (index, entry) in entries.enumerated() {
      (targets + index).initialize(to: Target(entry))
    }
    firstCalls = entries.first?.calls.map(Unmanaged.passUnretained)
    let reduces = { (entry: StoreEntry) in
      entry.calls != nil && entry.overrides.answer == .reduction
    }
    let plainCount = entries.prefix(while: reduces).count
    let runnable = failure == nil ? entries : hasRefinements || hasWeakStores ? registered : []
    onlyReduces = runnable.allSatisfy(reduces)
    endGate = runnable.lazy.compactMap(\.endGate).first
    // A dispatch that has to wait after its stores runs in a round, and an atomic one in one step.
    self.plainCount = endGate == nil && !isAtomic ? UInt32(plainCount) : 0
    _ = Unmanaged.passRetained(self)
  }

  /// Makes a copy for one thread.
  init(copying route: Route) {
    (entries, graph) = (route.entries, route.graph)
    onlyIdentifier = route.onlyIdentifier
    (registered, chain, dispatcher) = (route.registered, route.chain, route.dispatcher)
    generation = route.generation.retain()
    (failure, unknown) = (route.failure, route.unknown)
    (hasFailed, isAtomic) = (route.hasFailed, route.isAtomic)
    needsPreparation = route.needsPreparation
    (hasRefinements, hasWeakStores) = (route.hasRefinements, route.hasWeakStores)
    areReductions = route.areReductions
    (storeCount, plainCount) = (route.storeCount, route.plainCount)
    (onlyReduces, endGate) = (route.onlyReduces, route.endGate)
    (targets, firstCalls, original) = (route.targets, route.firstCalls, route)
    _ = Unmanaged.passRetained(self)
  }

  deinit {
    if original == nil { targets.deallocate() }
  }

  /// Returns a route to the stores that are there still, for one dispatch.
  ///
  /// - Parameter failure: The error of a dispatch to one store, which is gone; nil if it goes to all that respond.
  func withoutGoneStores(failure: DispatchError?) -> Route {
    let route = Route(
      registered.filter { !$0.isGone }, chain: chain, unknown: unknown, failure: failure,
      isAtomic: isAtomic, in: presentGeneration)
    route.retire(after: 1)
    return route
  }

  /// Returns a route with the order that reducers refine for an action, for one dispatch; nil if none refines it.
  ///
  /// Also returns the refined prerequisites that are not registered, with the stores that name them.
  func refined(
    for action: any ActionType, wasRegistered: (String) -> Bool
  ) -> (route: Route, absent: [(waiter: String, prerequisite: String)])? {
    guard hasRefinements else { return nil }
    let refined = registered.map { $0.refinedWaitFor(for: action) }
    guard refined.contains(where: { $0 != nil }) else { return nil }
    let route = Route(
      registered, waitFor: zip(registered, refined).map { $1 ?? $0.waitFor }, chain: chain,
      unknown: unknown, isAtomic: isAtomic, in: generation.takeUnretainedValue())
    route.retire(after: 1)
    var absent: [(waiter: String, prerequisite: String)] = []
    for (entry, refined) in zip(registered, refined) {
      for identifier in refined?.storeIdentifiers ?? []
      where !unknown.contains(identifier) && !wasRegistered(identifier) {
        absent.append((entry.identifier, identifier))
      }
    }
    return (route, absent)
  }

  /// Passes an action to a store that only reduces; nil if it is observed, and nothing was done.
  @inline(__always)  // in the loop over the stores: 9 % of `sync-reduction`
  func reduce(
    _ action: UnsafeRawPointer, at index: Int, on thread: ThreadState
  ) -> InlineStep? {
    let calls = index == 0 ? firstCalls : targets[index].calls
    return calls.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.reduce(action, thread) }
  }

  /// Passes an action to a store that only reduces, and is observed.
  func reduceObserved(
    _ action: UnsafeRawPointer, at index: Int, on thread: ThreadState
  ) -> InlineStep {
    let target = targets[index]
    return target.calls.unsafelyUnwrapped._withUnsafeGuaranteedRef { calls in
      target.store.unsafelyUnwrapped._withUnsafeGuaranteedRef {
        calls.reduceObserved(action, $0, thread)
      }
    }
  }

  /// Passes an action to the store at an index on this thread; if the store can end at once, its part ends.
  ///
  /// If the store was held weakly and is gone, or its changes are left to its notifier, a round takes it up.
  ///
  /// - Parameter run: The inline run, which makes a record if the store needs one.
  func answer(
    _ action: UnsafeRawPointer, at index: Int, in run: InlineRun.Address, on thread: ThreadState
  ) -> InlineStep {
    let target = targets[index]
    if let calls = target.calls, let store = target.store {
      return calls._withUnsafeGuaranteedRef { calls in
        store._withUnsafeGuaranteedRef { store in
          Self.answer(action, by: calls, store, target.kind, in: run, on: thread)
        }
      }
    }
    guard let (calls, store) = entries[index].target else { return .leftToRound }
    return Self.answer(action, by: calls, store, target.kind, in: run, on: thread)
  }

  private static func answer(
    _ action: UnsafeRawPointer, by calls: ReducerCalls, _ store: AnyObject, _ kind: ReducerAnswer,
    in run: InlineRun.Address, on thread: ThreadState
  ) -> InlineStep {
    switch kind {
    case .reduction:
      if let step = calls.reduce(action, thread) { return step }
      if calls.storage.holdsBack(run) { return .leftToRound }
      return calls.reduceObserved(action, store, thread)
    case .application:
      if calls.storage.holdsBack(run) { return .leftToRound }
      run.pointee.captureTaskLocals(on: thread)
      return calls.apply(action, store)
    case .operation:
      if calls.storage.holdsBack(run) { return .leftToRound }
      run.pointee.captureTaskLocals(on: thread)
      let record = run.pointee.makeRecord(on: thread)
      return calls.answer(action, store, record, thread)
    }
  }

  /// Passes a store's entry to a closure, without counting references.
  @inline(__always)
  func withEntry<Result>(at index: Int, _ body: (StoreEntry) -> Result) -> Result {
    targets[index].entry._withUnsafeGuaranteedRef(body)
  }

  /// Returns the results of the stores that a store has waited for, which have finished.
  func prerequisiteResults(at index: Int) -> [StoreResult] {
    (prerequisites?[index] ?? []).map {
      StoreResult(storeIdentifier: identifiers[$0], outcome: .finished)
    }
  }

  /// The error of a dispatch whose stores have not failed: that of the route, or of a companion that needs an answer.
  func error(with companions: @autoclosure () -> [DispatchCompanion]?) -> DispatchError? {
    if failure != nil || !isUnanswered { return failure }
    return companions()?.lazy.compactMap(\.errorIfUnanswered).first
  }

  // MARK: Outstanding dispatches

  /// Counts the end of a dispatch that has used the route.
  @inline(__always)
  func end() {
    if countEnd() { release() }
  }

  /// Counts the end of a dispatch that has used the route; returns whether the caller has to release the route.
  @inline(__always)
  func countEnd() -> Bool {
    ended.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue == 0
  }

  /// Whether only the caller's dispatch still uses the route, so that the caller may release it instead of counting.
  var isLastUse: Bool { ended.load(ordering: .acquiring) == -1 }

  /// Notes that no further dispatch uses the route, which is released with the last outstanding dispatch.
  func retire(after outstanding: Int) {
    if ended.wrappingSubtract(Int64(outstanding), ordering: .acquiringAndReleasing).newValue == 0 {
      release()
    }
  }

  private func release() { Unmanaged.passUnretained(self).releaseAlone().release() }
}

extension Unmanaged<Route> {
  /// Releases the route, with the stores that nothing else keeps.
  ///
  /// - Returns: The generation, for the caller to release.
  func releaseAlone() -> Unmanaged<DispatchGeneration> {
    let generation = _withUnsafeGuaranteedRef(\.generation)
    release()
    return generation
  }
}
