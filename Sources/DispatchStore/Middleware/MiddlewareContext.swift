/// What a middleware's hook gets of a dispatch: one store run.
public struct MiddlewareContext: Sendable {
  /// The identity of the dispatched action; the same for all of its stores.
  public let id: TransactionID
  /// The dispatcher, for hooks that dispatch.
  public let dispatcher: Dispatcher
  /// The transaction from inside which this one was dispatched.
  public let parent: TransactionID?
  /// How the dispatch is scheduled.
  public let mode: Dispatcher.Mode
  /// Where it was dispatched.
  public let callSite: CallSite
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
}
