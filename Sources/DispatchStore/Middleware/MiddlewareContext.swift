/// What a middleware's hook gets of a dispatch: one store run.
public struct MiddlewareContext: Sendable {
  let session: MiddlewareSession
  let storeIndex: Int
  /// How the store run ended; nil in `willDispatch`.
  public internal(set) var outcome: StoreOutcome?
  /// How long the store itself took, from its start to its end; nil in `willDispatch`.
  ///
  /// Zero where it was not started. By the dispatcher's clock, as `timeQueued`.
  public internal(set) var duration: Duration?
  /// How long the action waited before the store's start: for its scheduler, for dispatches and stores
  /// before it, and for what its operation depends on; nil in `willDispatch`.
  ///
  /// From `willDispatch` on; where the store was not started, to the end of its run.
  public internal(set) var timeQueued: Duration?

  init(_ session: MiddlewareSession, at storeIndex: Int) {
    self.session = session
    self.storeIndex = storeIndex
  }

  /// The identity of the dispatched action; the same for all of its stores.
  public var id: TransactionID { session.id }
  /// The dispatcher, for hooks that dispatch.
  public var dispatcher: Dispatcher { session.dispatcher }
  /// The transaction from inside which this one was dispatched.
  public var parent: TransactionID? { session.parent }
  /// How the dispatch is scheduled.
  public var mode: Dispatcher.Mode { session.mode }
  /// Where it was dispatched.
  public var callSite: CallSite { session.callSite }
}
