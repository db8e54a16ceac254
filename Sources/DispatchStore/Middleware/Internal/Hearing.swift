/// What the middlewares of a dispatch heard and said of its stores; the context of their hooks.
///
/// A dispatch that runs straight has one only where there are middlewares: around itself, while it is
/// pending and runs.
final class Hearing: DispatchContext, @unchecked Sendable {
  // because what changes belongs to the thread that dispatches, and then to the step that runs
  /// What hooks are told of the dispatch.
  let told: MiddlewareContext
  /// The action as dispatched.
  let action: any ActionType
  /// By the dispatcher's clock.
  let began: Int64
  private let heard: Dispatch
  /// By place, where a middleware did more than let the action pass.
  @exclusivity(unchecked) private var replies: [Int: MiddlewareChain.Reply] = [:]
  /// The context around the hooks, or around the straight run.
  @exclusivity(unchecked) var around: DispatchContext?

  init(
    of dispatch: Dispatch, _ action: any ActionType, by dispatcher: Dispatcher,
    in mode: Dispatcher.Mode
  ) {
    heard = dispatch
    began = dispatcher.clock.nanoseconds
    self.action = action
    told = dispatch.transaction(dispatch.id, by: dispatcher, in: mode)
  }

  override var dispatch: Dispatch { heard }
  override var transaction: TransactionID { heard.id }
  override var owner: (any CommitOwner)? { nil }
  override var outer: DispatchContext? { around ?? heard.details?.outer }

  // MARK: Telling

  /// Tells of all stores, in their order.
  func tellWill(_ responders: Route, on thread: ThreadState) {
    let light = thread.putLightAside()
    around = thread.context.take()
    thread.context = self
    for (place, entry) in responders.entries.enumerated() {
      let reply = responders.chain.will(told, action: action, in: entry.store!)
      if let reply { replies[place] = reply }
    }
    thread.context = around.take()
    thread.light = light
  }

  /// Tells that a store's part has ended; inside the straight run.
  func tellDid(
    _ outcome: StoreOutcome, at place: Int, of responders: Route, on thread: ThreadState
  ) {
    let reply = reply(at: place)
    var told = told
    told.outcome = outcome
    told.duration = .nanoseconds(told.dispatcher.clock.nanoseconds - began)
    thread.context = self
    responders.chain.did(
      told, action: reply?.action ?? action, in: responders.entries[place].store!,
      heard: reply?.heard ?? responders.chain.middlewares.count)
    thread.context = heard
  }

  // MARK: What was said

  /// Nil where the middlewares let the action pass.
  func reply(at place: Int) -> MiddlewareChain.Reply? {
    replies.isEmpty ? nil : replies[place]
  }

  /// The parts of a round take it over.
  func handOver(to parts: [StoreRun], of chain: MiddlewareChain) {
    for (place, part) in parts.enumerated() { part.take(reply(at: place), of: chain) }
  }
}
