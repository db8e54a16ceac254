import Synchronization

/// One action's way through the middlewares: their verdicts by store, and what `didDispatch` gets of them.
///
/// Begun where there are middlewares. The dispatching thread calls `willDispatch`; the step that runs the
/// dispatch then has the session, in the inline run and in the round. A thread uses it again where no hook has
/// kept it.
final class MiddlewareSession: TransactionScope, @unchecked Sendable {
  // because what changes belongs to the thread that dispatches, and then to the step that runs; what contexts
  // read that hooks have kept changes only where the library has the one reference
  @exclusivity(unchecked) private(set) var id = TransactionID(rawValue: 0)
  @exclusivity(unchecked) private(set) var parent: TransactionID?
  @exclusivity(unchecked) private(set) var mode = Dispatcher.Mode.sync
  @exclusivity(unchecked) private(set) var callSite = CallSite(fileID: "", line: 0)
  /// The action as dispatched.
  @exclusivity(unchecked) private(set) var action: any ActionType = NoAction()
  /// Both exist as long as the inline run in which the session began; from then on it keeps them.
  ///
  /// So a `.sync` dispatch writes no reference count that other threads write.
  @exclusivity(unchecked) private var present: (Unmanaged<Dispatcher>, Unmanaged<MiddlewareChain>)!
  @exclusivity(unchecked) private var kept: (Dispatcher, MiddlewareChain)?
  /// Whether it has anything to do for the whole dispatch: the chain's, read where there is mostly nothing.
  @exclusivity(unchecked) private(set) var hasWholes = false
  /// When the `willDispatch` hooks had been called, by the dispatcher's clock.
  @exclusivity(unchecked) private var began: Int64 = 0
  /// Whether the first store starts at that moment.
  @exclusivity(unchecked) private var startsAtOnce = false
  /// When the first store started; kept where whole dispatches have hooks.
  private let firstStart = Atomic<Int64>(.max)
  /// When the present store of the inline run started; in a round, its store run has that.
  @exclusivity(unchecked) private(set) var startedAt: Int64?
  /// Where something watches the dispatch, until its end.
  @exclusivity(unchecked) private var trace: DispatchTrace?
  /// By store index, where a middleware did more than let the action pass; nil where none did.
  @exclusivity(unchecked) private var replies: [Int: MiddlewareChain.Reply]?

  /// What a spare session has.
  private struct NoAction: ActionType {}

  // MARK: Its life

  /// Begins a session, by a spare one of the thread where there is one.
  ///
  /// - Returns: The caller's reference, for `end` or `keep`.
  static func begin(
    _ action: any ActionType, _ chain: Unmanaged<MiddlewareChain>, _ id: TransactionID,
    parent: TransactionID?, _ mode: Dispatcher.Mode, _ callSite: CallSite,
    by dispatcher: Dispatcher, on thread: ThreadState
  ) -> Unmanaged<MiddlewareSession> {
    let session = thread.takeSpareSession() ?? .passRetained(MiddlewareSession())
    session._withUnsafeGuaranteedRef {
      $0.action = action
      $0.present = (.passUnretained(dispatcher), chain)
      $0.hasWholes = chain._withUnsafeGuaranteedRef(\.hasWholes)
      $0.id = id
      $0.parent = parent
      $0.mode = mode
      $0.callSite = callSite
    }
    return session
  }

  /// The inline run in which it began is over, or another one takes it over: it keeps what it refers to.
  func keepAlive() {
    guard kept == nil else { return }
    kept = (present.0.takeUnretainedValue(), present.1.takeUnretainedValue())
  }

  /// The dispatch has ended in the inline run that has the session.
  static func end(_ ended: Unmanaged<MiddlewareSession>, on thread: ThreadState) {
    var session = ended.takeRetainedValue()
    guard isUniquelyReferencedForReuse(&session) else { return session.keepAlive() }
    session.clear()
    thread.keepSpare(.passRetained(consume session))
  }

  private func clear() {
    removeValues()
    action = NoAction()
    if kept != nil { kept = nil }
    if replies != nil { replies = nil }
    startsAtOnce = false
    startedAt = nil
    firstStart.store(.max, ordering: .relaxed)
  }

  var dispatcher: Dispatcher { present.0.takeUnretainedValue() }

  private func withChain<Result>(_ body: (MiddlewareChain) -> Result) -> Result {
    present.1._withUnsafeGuaranteedRef(body)
  }

  // MARK: Stores

  /// Whether all stores get the action as dispatched.
  var letsAllPass: Bool { replies == nil }

  /// Nil where the middlewares let the action pass to the store.
  func reply(at index: Int) -> MiddlewareChain.Reply? {
    replies == nil ? nil : replies?[index]
  }

  /// The action that the store at an index gets.
  func action(at index: Int) -> any ActionType {
    reply(at: index)?.action ?? action
  }

  /// Calls `willDispatch` for all stores, in their order.
  ///
  /// - Parameter startsAtOnce: Whether the stores follow on this thread.
  func willDispatch(_ action: any ActionType, along route: Route, startsAtOnce: Bool) {
    if hasWholes, let trace { trace.prepare(route.identifiers) }
    for index in 0..<route.count {
      route.withEntry(at: index) { willDispatch(action, at: index, to: $0) }
    }
    began = now
    self.startsAtOnce = startsAtOnce
  }

  private func willDispatch(_ action: any ActionType, at index: Int, to entry: StoreEntry) {
    guard let reply = reply(to: action, at: index, of: entry) else { return }
    if replies == nil { replies = [:] }
    replies?[index] = reply
  }

  private func reply(
    to action: any ActionType, at index: Int, of entry: StoreEntry
  ) -> MiddlewareChain.Reply? {
    let context = MiddlewareContext(self, at: index)
    return withChain { chain in
      entry.withStoreForHooks { chain.willDispatch(context, action: action, in: $0) }
    }
  }

  /// Calls `willDispatch` for another attempt of a store; its reply is not kept here, where other steps read.
  func willDispatch(at index: Int, to entry: StoreEntry) -> MiddlewareChain.Reply? {
    reply(to: action, at: index, of: entry)
  }

  /// The present time, by the dispatcher's clock.
  var now: Int64 { present.0._withUnsafeGuaranteedRef { $0.clock.nanoseconds } }

  /// A store starts in the inline run.
  func start(_ index: Int) {
    let now = startsAtOnce ? began : now
    startsAtOnce = false
    startedAt = now
    noteStart(of: index, at: now)
  }

  /// A store starts.
  func noteStart(of index: Int, at time: Int64) {
    guard hasWholes else { return }
    firstStart.min(time, ordering: .relaxed)
    if let trace { trace.storeStarts(index, at: time) }
  }

  /// Calls `didDispatch` for a store run that has ended in the inline run.
  func didDispatch(_ outcome: StoreOutcome, at index: Int, along route: Route) {
    let endedAt = now
    let startedAt = startedAt.take()
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
  ///   - reply: What its `willDispatch` hooks have said, and `began` when they had been called, where that was not
  ///     with those of the other stores.
  func didDispatch(
    _ outcome: StoreOutcome, at index: Int, in store: any StoreType, startedAt: Int64?,
    endedAt: Int64, reply: MiddlewareChain.Reply?, began: Int64? = nil
  ) {
    if hasWholes, let trace { trace.storeEnded(index, at: endedAt) }
    let startedAt = startedAt ?? endedAt
    let context = MiddlewareContext(
      self, at: index, outcome, duration: endedAt - startedAt,
      timeQueued: startedAt - (began ?? self.began))
    withChain {
      if let reply {
        $0.didDispatch(
          context, action: reply.action, in: store, notifiedCount: reply.notifiedCount)
      } else {
        $0.didDispatch(context, action: action, in: store, notifiedCount: $0.count)
      }
    }
  }

  // MARK: Whole dispatches

  /// Calls the hooks of whole dispatches.
  func dispatchBegan() {
    withChain { chain in
      if chain.wholes.isEmpty { return }
      let info = info
      for middleware in chain.wholes { middleware.dispatchWillBegin(info) }
    }
  }

  /// Whether something looks at the dispatch while it is in flight.
  var isWatched: Bool { withChain { !$0.watchers.isEmpty } }

  /// It is watched, before any hook of it.
  func watch(_ record: Dispatch, caller: Dispatch?) {
    let trace = DispatchTrace(
      record, [action], isSequence: false, mode, caller: caller, at: now)
    self.trace = trace
    withChain { for watcher in $0.watchers { watcher.watch(trace, of: dispatcher) } }
  }

  func dispatchEnded(_ result: @autoclosure () -> DispatchResult) {
    withChain { chain in
      if chain.wholes.isEmpty { return }
      var info = info
      info.setTimes(began: began, started: firstStart.load(ordering: .relaxed), ended: now)
      let result = result()
      for middleware in chain.wholes.reversed() { middleware.dispatchDidEnd(info, result: result) }
    }
    endTrace()
  }

  private func endTrace() {
    guard let trace = trace.take() else { return }
    withChain { for watcher in $0.watchers { watcher.forget(trace) } }
  }

  /// What follows the dispatch.
  var followers: [any DispatchFollower] { withChain(\.followers) }

  private var info: DispatchInfo {
    DispatchInfo(
      id: id, dispatcher: dispatcher, parent: parent, actions: [action], isSequence: false,
      mode: mode, callSite: callSite, scope: self)
  }
}

extension DispatchInfo {
  /// - Parameter started: When the first store started; later than the end where none did.
  mutating func setTimes(began: Int64, started: Int64, ended: Int64) {
    let started = min(started, ended)
    timeQueued = .nanoseconds(started - began)
    duration = .nanoseconds(ended - started)
  }
}
