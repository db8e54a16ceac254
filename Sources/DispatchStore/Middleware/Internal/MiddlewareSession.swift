import Synchronization

/// One action's way through the middlewares: their verdicts by store, and what `didDispatch` gets of them.
///
/// Made where there are middlewares. The dispatching thread calls `willDispatch`; the step that runs the
/// dispatch then has the session, in the inline run and in the round.
final class MiddlewareSession: TransactionScope, @unchecked Sendable {
  // because what changes belongs to the thread that dispatches, and then to the step that runs
  /// The action as dispatched.
  let action: any ActionType
  let id: TransactionID
  let dispatcher: Dispatcher
  let parent: TransactionID?
  let mode: Dispatcher.Mode
  let callSite: CallSite
  private let chain: MiddlewareChain
  private let clock: DispatcherClock
  /// When the session began, by the dispatcher's clock.
  private let began: Int64
  /// When the first store started; kept where whole dispatches have hooks.
  private let firstStart = Atomic<Int64>(.max)
  /// When the present store of the inline run started; in a round, its store run has that.
  @exclusivity(unchecked) private(set) var startedAt: Int64?
  /// By store index, where a middleware did more than let the action pass.
  @exclusivity(unchecked) private var replies: [Int: MiddlewareChain.Reply] = [:]

  init(
    of action: any ActionType, _ chain: MiddlewareChain, _ id: TransactionID,
    parent: TransactionID?, _ mode: Dispatcher.Mode, _ callSite: CallSite,
    by dispatcher: Dispatcher
  ) {
    self.action = action
    self.chain = chain
    self.id = id
    self.dispatcher = dispatcher
    self.parent = parent
    self.mode = mode
    self.callSite = callSite
    clock = dispatcher.clock
    began = clock.nanoseconds
  }

  /// Nil where the middlewares let the action pass to the store.
  func reply(at index: Int) -> MiddlewareChain.Reply? {
    replies.isEmpty ? nil : replies[index]
  }

  /// The action that the store at an index gets.
  func action(at index: Int) -> any ActionType {
    reply(at: index)?.action ?? action
  }

  /// Calls `willDispatch` for all stores, in their order.
  func willDispatch(to entries: [StoreEntry]) {
    for index in entries.indices {
      let store = entries[index].storeForHooks
      let reply = chain.willDispatch(
        MiddlewareContext(self, at: index), action: action, in: store)
      if let reply { replies[index] = reply }
    }
  }

  /// The present time, by the dispatcher's clock.
  var now: Int64 { clock.nanoseconds }

  /// A store starts in the inline run.
  func start() {
    let now = now
    startedAt = now
    noteStart(at: now)
  }

  /// A store starts.
  func noteStart(at time: Int64) {
    if !chain.wholes.isEmpty { firstStart.min(time, ordering: .relaxed) }
  }

  /// Calls `didDispatch` for a store run that has ended in the inline run.
  func didDispatch(_ outcome: StoreOutcome, at index: Int, in store: any StoreType) {
    didDispatch(outcome, at: index, in: store, startedAt: startedAt.take(), endedAt: now)
  }

  /// Calls `didDispatch` for a store run that has ended.
  func didDispatch(
    _ outcome: StoreOutcome, at index: Int, in store: any StoreType, startedAt: Int64?,
    endedAt: Int64
  ) {
    let reply = reply(at: index)
    let startedAt = startedAt ?? endedAt
    var context = MiddlewareContext(self, at: index)
    context.outcome = outcome
    context.duration = .nanoseconds(endedAt - startedAt)
    context.timeQueued = .nanoseconds(startedAt - began)
    chain.didDispatch(
      context, action: reply?.action ?? action, in: store,
      notifiedCount: reply?.notifiedCount ?? chain.middlewares.count)
  }

  // MARK: Whole dispatches

  func dispatchBegan() {
    for middleware in chain.wholes { middleware.dispatchWillBegin(info) }
  }

  func dispatchEnded(_ result: @autoclosure () -> DispatchResult) {
    guard !chain.wholes.isEmpty else { return }
    var info = info
    info.setTimes(began: began, started: firstStart.load(ordering: .relaxed), ended: now)
    let result = result()
    for middleware in chain.wholes.reversed() {
      middleware.dispatchDidEnd(info, result: result)
    }
  }

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
