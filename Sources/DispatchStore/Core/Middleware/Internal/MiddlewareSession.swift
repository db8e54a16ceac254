import Synchronization

/// A dispatch's way through the middlewares: their verdicts by store, its times, and the values that hooks keep for it.
///
/// Begun if there are middlewares. The dispatching thread calls `willDispatch`. Then the step that runs the dispatch
/// has the session, in the inline run or in the round. Reused by its thread, unless a hook has kept it or a list has it.
final class MiddlewareSession: @unchecked Sendable {
  // because the dispatching thread owns it first, and then the step that runs. A hook may keep an info, so the
  // fields that infos read change only while the library has the only reference. The kept values have a lock.
  @exclusivity(unchecked) private(set) var id = DispatchID(rawValue: 0)
  @exclusivity(unchecked) private(set) var parent: DispatchID?
  @exclusivity(unchecked) private(set) var mode = Dispatcher.Mode.sync
  @exclusivity(unchecked) private(set) var callSite = CallSite("", 0)
  /// The action as dispatched; none for a list.
  @exclusivity(unchecked) private(set) var action: any ActionType = NoAction()
  /// The actions of a list; nil for an action.
  @exclusivity(unchecked) private var listed: [any ActionType]?
  /// Whether this is one action of a sequence.
  @exclusivity(unchecked) private(set) var isStep = false
  /// Unretained while the inline run in which the session began keeps them alive.
  ///
  /// `keepAlive()` then retains them.
  ///
  /// So a `.sync` dispatch writes no reference count that other threads write.
  @exclusivity(unchecked) private var present: (Unmanaged<Dispatcher>, Unmanaged<MiddlewareChain>)!
  @exclusivity(unchecked) private var kept: (Dispatcher, MiddlewareChain)?
  /// Whether the chain has hooks, a watcher or followers of whole dispatches.
  ///
  /// A copy, because it is read often and mostly false.
  @exclusivity(unchecked) private(set) var hasWholes = false
  /// Whether stores have hooks or a watcher; if not, they run as if there were no session.
  @exclusivity(unchecked) private(set) var followsStores = false
  /// The time after the `willDispatch` hooks, by the dispatcher's clock.
  @exclusivity(unchecked) private var began: Int64 = 0
  /// Whether the first store starts at `began`.
  @exclusivity(unchecked) private var startsAtOnce = false
  /// The start of the first store.
  ///
  /// Kept only if whole dispatches have hooks.
  private let firstStart = Atomic<Int64>(.max)
  /// The trace until the end of the dispatch; nil if nothing watches it.
  @exclusivity(unchecked) private var trace: (any DispatchTrace)?
  /// The replies by store index; none if all middlewares let all stores have the action.
  @exclusivity(unchecked) private var replies: [Int: MiddlewareChain.Reply] = [:]
  private let waitedForSaving = Atomic(false)
  /// The dispatch while the `dispatchDidEnd` hooks run.
  @exclusivity(unchecked) private var ending: Unmanaged<Dispatch>?
  /// Whether the `dispatchWillBegin` hooks run.
  @exclusivity(unchecked) private var isBeginning = false
  private let values = Locked(Values())
  /// Whether a hook has set or bound a value.
  private let hasValues = Atomic(false)

  private struct Values {
    var bySlot: [Slot: any Sendable] = [:]
    var bound: [CapturedTaskLocal] = []
  }

  private struct Slot: Hashable {
    let key: ObjectIdentifier
    /// The store, or nil for a value of all stores.
    let storeIndex: Int?
  }

  /// The action of a spare session.
  struct NoAction: ActionType {}

  // MARK: Its life

  /// Begins a session, reusing the thread's spare one if there is one.
  ///
  /// - Parameter listed: The actions of a list, whose stores have hooks in the sessions of its actions; nil for an action.
  /// - Returns: The caller's reference, for `end` or `keep`.
  static func begin(
    _ action: any ActionType, listed: [any ActionType]?, _ chain: Unmanaged<MiddlewareChain>,
    _ id: DispatchID, parent: DispatchID?, isStep: Bool, _ mode: Dispatcher.Mode,
    _ callSite: CallSite, by dispatcher: Dispatcher, on thread: ThreadState
  ) -> Unmanaged<MiddlewareSession> {
    let session = thread.takeSpareSession() ?? .passRetained(MiddlewareSession())
    session._withUnsafeGuaranteedRef {
      $0.action = action
      $0.listed = listed
      $0.isStep = isStep
      $0.present = (.passUnretained(dispatcher), chain)
      ($0.hasWholes, $0.followsStores) = chain._withUnsafeGuaranteedRef {
        ($0.hasWholes, $0.followsStores)
      }
      $0.id = id
      $0.parent = parent
      $0.mode = mode
      $0.callSite = callSite
    }
    return session
  }

  /// Retains the dispatcher and the chain, since the inline run ends or another one takes over.
  func keepAlive() {
    guard kept == nil else { return }
    kept = (present.0.takeUnretainedValue(), present.1.takeUnretainedValue())
  }

  /// Ends the session with its dispatch, in the inline run that has it.
  static func end(_ ended: Unmanaged<MiddlewareSession>, on thread: ThreadState) {
    var session = ended.takeRetainedValue()
    guard isUniquelyReferencedForReuse(&session) else { return session.keepAlive() }
    session.clear()
    thread.keepSpare(.passRetained(consume session))
  }

  /// Releases what is the program's, before the session is kept for reuse.
  private func clear() {
    if hasValues.load(ordering: .relaxed) {
      _ = values.exchange(Values())
      hasValues.store(false, ordering: .relaxed)
    }
    // A lane's key may be the last reference to an object of the program.
    mode = .sync
    waitedForSaving.store(false, ordering: .relaxed)
    action = NoAction()
    if kept != nil { kept = nil }
    if hasReplies { replies = [:] }
    startsAtOnce = false
    firstStart.store(.max, ordering: .relaxed)
  }

  var dispatcher: Dispatcher { present.0.takeUnretainedValue() }
  /// The actions as dispatched.
  var actions: ShortList<any ActionType> {
    if let listed { ShortList(listed) } else { ShortList(action) }
  }
  var isSequence: Bool { listed != nil }

  /// Whether its stores have ended, and its end waits until their commits are saved, or has waited.
  ///
  /// Other dispatches may have committed meanwhile.
  var hasWaitedForSaving: Bool { waitedForSaving.load(ordering: .relaxed) }

  /// Notes that its stores have ended, before the wait begins.
  func noteWaitForSaving() { waitedForSaving.store(true, ordering: .relaxed) }

  private func withChain<Result>(_ body: (MiddlewareChain) -> Result) -> Result {
    present.1._withUnsafeGuaranteedRef(body)
  }

  // MARK: Stores

  /// Whether a middleware did more than let the action pass.
  var hasReplies: Bool { !replies.isEmpty }

  /// Returns the reply for a store, or nil if the middlewares let the action pass.
  func reply(at index: Int) -> MiddlewareChain.Reply? {
    hasReplies ? replies[index] : nil
  }

  /// Calls `willDispatch` for all stores, in their order.
  ///
  /// - Parameter startsAtOnce: Whether the stores run next, on this thread.
  func willDispatch(_ action: any ActionType, along route: Route, startsAtOnce: Bool) {
    if followsStores {
      for index in 0..<route.count {
        if let reply = route.withEntry(at: index, { willDispatch(action, at: index, to: $0) }) {
          replies[index] = reply
        }
      }
    }
    if hasWholes, let trace { trace.prepare(route.identifiers) }
    began = now
    self.startsAtOnce = startsAtOnce
    if startsAtOnce, !followsStores, route.count > 0 { noteFirstStart(at: began) }
  }

  /// Calls `willDispatch` for one store.
  ///
  /// Does not keep the reply: if this is another attempt, other steps read `replies`.
  func willDispatch(
    _ action: any ActionType, at index: Int, to entry: StoreEntry
  ) -> MiddlewareChain.Reply? {
    let info = DispatchInfo(self, at: index)
    return withChain { chain in
      entry.withStoreForHooks { chain.willDispatch(info, action: action, in: $0) }
    }
  }

  /// The present time, by the dispatcher's clock.
  var now: Int64 { present.0._withUnsafeGuaranteedRef { $0.clock.nanoseconds } }

  /// Notes that a store starts in the inline run, and returns the time.
  func start(_ index: Int) -> Int64 {
    let time = startsAtOnce ? began : now
    startsAtOnce = false
    noteStart(of: index, at: time)
    return time
  }

  /// Notes that a store starts.
  func noteStart(of index: Int, at time: Int64) {
    guard hasWholes else { return }
    noteFirstStart(at: time)
    if let trace { trace.storeStarts(index, at: time) }
  }

  /// Notes that the first store starts.
  func noteFirstStart(at time: Int64) {
    firstStart.min(time, ordering: .relaxed)
  }

  /// Forgets the noted start of a store that is left to a round: the first start is a later one, if there is any.
  func forgetFirstStart() { firstStart.store(.max, ordering: .relaxed) }

  /// Calls `didDispatch` for a store run that has ended in the inline run.
  func didDispatch(
    _ outcome: StoreOutcome, at index: Int, along route: Route, startedAt: Int64?
  ) {
    guard followsStores else { return }
    let endedAt = now
    route.withEntry(at: index) { entry in
      entry.withStoreForHooks {
        didDispatch(
          outcome, at: index, in: $0, startedAt: startedAt, endedAt: endedAt,
          reply: reply(at: index))
      }
    }
  }

  /// Calls `didDispatch` for a store run that has ended.
  ///
  /// - Parameters:
  ///   - startedAt: The time at which the store got the action; nil if it did not.
  ///   - reply: The reply of its `willDispatch` hooks.
  ///   - began: The time after those hooks, if they were not called together with the other stores' hooks.
  func didDispatch(
    _ outcome: StoreOutcome, at index: Int, in store: any StoreType, startedAt: Int64?,
    endedAt: Int64, reply: MiddlewareChain.Reply?, began: Int64? = nil
  ) {
    if hasWholes, let trace { trace.storeEnded(index, at: endedAt) }
    // A start is also noted for a store whose operation was cancelled before it began.
    let hasStarted = startedAt != nil && outcome.mayHaveStarted
    let startedAt = startedAt ?? endedAt
    let info = StoreRunInfo(
      session: self, storeIndex: index, outcome: outcome, hasStarted: hasStarted,
      isRepeated: began != nil, replacement: reply?.replacement, nanoseconds: endedAt - startedAt,
      nanosecondsQueued: startedAt - (began ?? self.began),
      nanosecondsBeforeStart: startedAt - self.began)
    withChain {
      if let reply {
        $0.didDispatch(info, action: reply.action, in: store, notifiedCount: reply.notifiedCount)
      } else {
        $0.didDispatch(info, action: action, in: store, notifiedCount: $0.count)
      }
    }
  }

  // MARK: Whole dispatches

  /// Calls `dispatchWillBegin`, and returns the task-local values that the hooks have bound, in their order.
  func dispatchBegan() -> [CapturedTaskLocal] {
    withChain { chain in
      if chain.wholes.isEmpty { return [] }
      isBeginning = true
      defer { isBeginning = false }
      let info = DispatchInfo(self)
      for middleware in chain.wholes { middleware.dispatchWillBegin(info) }
      guard hasValues.load(ordering: .relaxed) else { return [] }
      return values.withLock { values in
        defer { values.bound = [] }
        return values.bound
      }
    }
  }

  /// Whether there is a watcher.
  var isWatched: Bool { withChain { $0.watcher != nil } }

  /// Shows the dispatch to the watcher: from now on other threads see it, so it gets details.
  func watch(_ record: Dispatch) {
    _ = record.makeDetails()
    let caller = mode.isSync ? record.outer?.dispatch : nil
    trace = withChain { $0.watcher?.watch(record, DispatchInfo(self), caller: caller, at: now) }
  }

  /// Notes that an action of the list has ended.
  func stepEnded() { trace?.stepEnded(at: now) }

  /// Calls `dispatchDidEnd`.
  ///
  /// - Parameter record: The dispatch; nil if no other thread can have ended it.
  func dispatchEnded(
    _ result: @autoclosure () -> DispatchResult, of record: Unmanaged<Dispatch>?
  ) {
    withChain { chain in
      if chain.wholes.isEmpty { return }
      ending = record
      defer { ending = nil }
      var info = DispatchInfo(self)
      info.setTimes(began: began, started: firstStart.load(ordering: .relaxed), ended: now)
      let result = result()
      for middleware in chain.wholes.reversed() { middleware.dispatchDidEnd(info, result: result) }
    }
    if trace.take() != nil { withChain { $0.watcher?.forget(id) } }
  }

  /// Calls a closure once the completion has returned; called in `dispatchDidEnd`.
  func whenCompleted(_ body: @escaping @Sendable () -> Void) {
    let dispatch = ending?.takeUnretainedValue()
    if let dispatch, dispatch.isEndingEarly { dispatch.whenEnded(body) } else { body() }
  }

  /// The followers of the dispatch.
  var followers: [any DispatchFollower] { withChain(\.followers) }

  // MARK: Values of hooks

  subscript<Key: DispatchKey>(key: Key.Type, storeIndex: Int?) -> Key.Value? {
    get {
      let slot = Slot(key: ObjectIdentifier(key), storeIndex: storeIndex)
      return values.withLock { $0.bySlot[slot] } as? Key.Value
    }
    set {
      let slot = Slot(key: ObjectIdentifier(key), storeIndex: storeIndex)
      // Released outside the lock, because a deinit may run user code.
      values.withLockReleasing { values in
        hasValues.store(true, ordering: .relaxed)
        defer { values.bySlot[slot] = newValue }
        return values.bySlot[slot]
      }
    }
  }

  func bind(_ value: CapturedTaskLocal, at callSite: CallSite) {
    guard isBeginning else {
      stopProgram(
        """
        A middleware bound a task-local value after the dispatch (\(callSite)) had begun, so that some of its code \
        would not see it. Call bind(_:to:) in dispatchWillBegin.
        """)
    }
    values.withLock { values in
      hasValues.store(true, ordering: .relaxed)
      values.bound.append(value)
    }
  }
}
