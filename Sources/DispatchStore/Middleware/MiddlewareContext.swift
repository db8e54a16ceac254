/// What a middleware's hook gets of a dispatch: one store's part in one dispatched action.
public struct MiddlewareContext: Sendable {
  /// Names the action's dispatch; the same for all of its stores.
  public let id: TransactionID
  /// The dispatcher, for hooks that dispatch.
  public let dispatcher: Dispatcher
  /// The transaction from inside which this one was dispatched.
  public let parent: TransactionID?
  /// How the dispatch is scheduled.
  public let mode: Dispatcher.Mode
  /// Where it was dispatched.
  public let callSite: CallSite
  /// How the store's part ended; nil in `willDispatch`.
  public internal(set) var outcome: StoreOutcome?
  /// From `willDispatch` to the end of the store's part; nil in `willDispatch`.
  public internal(set) var duration: Duration?
}
