/// One action's way through the middlewares: their verdicts by store, and what `didDispatch` gets of them.
///
/// Made where there are middlewares. The dispatching thread calls `willDispatch`; the step that runs the
/// dispatch then has the session, in the inline run and in the round.
final class MiddlewareSession: @unchecked Sendable {
  // because what changes belongs to the thread that dispatches, and then to the step that runs
  /// The action as dispatched.
  let action: any ActionType
  /// What hooks get of the dispatch.
  private let context: MiddlewareContext
  private let chain: MiddlewareChain
  private let clock: DispatcherClock
  /// When the session began, by the dispatcher's clock.
  private let began: Int64
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
    clock = dispatcher.clock
    began = clock.nanoseconds
    context = MiddlewareContext(
      id: id, dispatcher: dispatcher, parent: parent, mode: mode, callSite: callSite)
  }

  var dispatcher: Dispatcher { context.dispatcher }

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
      let reply = chain.willDispatch(context, action: action, in: store)
      if let reply { replies[index] = reply }
    }
  }

  /// The present time, by the dispatcher's clock.
  var now: Int64 { clock.nanoseconds }

  /// A store starts in the inline run.
  func start() {
    startedAt = now
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
    var context = context
    context.outcome = outcome
    context.duration = .nanoseconds(endedAt - startedAt)
    context.timeQueued = .nanoseconds(startedAt - began)
    chain.didDispatch(
      context, action: reply?.action ?? action, in: store,
      notifiedCount: reply?.notifiedCount ?? chain.middlewares.count)
  }

  // MARK: Whole dispatches

  func dispatchBegan() {
    guard !chain.witnesses.isEmpty else { return }
    let dispatch = WitnessedDispatch(
      id: context.id, parent: context.parent, actions: [action], isSequence: false,
      mode: context.mode, callSite: context.callSite)
    for witness in chain.witnesses { witness.dispatchBegan(dispatch) }
  }

  func dispatchEnded(_ result: @autoclosure () -> DispatchResult) {
    guard !chain.witnesses.isEmpty else { return }
    let result = result()
    for witness in chain.witnesses { witness.dispatchEnded(context.id, result) }
  }
}
