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
  /// The time from `willDispatch` to the end of the store's operation; nil in `willDispatch`.
  public internal(set) var duration: Duration?
}
