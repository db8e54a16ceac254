/// Two hooks around each store run of a dispatch.
///
/// Hooks run while no lock is held, and may dispatch in every mode. Several threads may call them at once. A
/// middleware is registered once, however often you call `register(middleware:)`.
public protocol Middleware: AnyObject, Sendable {
  /// Called before anything of the dispatch is scheduled.
  ///
  /// Decides which action the store gets, if any.
  ///
  /// Runs on the dispatching thread, once for each store that takes part. In `dispatch(actions:)`, it runs when the
  /// action's turn comes.
  ///
  /// - Stores come in `waitFor` order, middlewares in order of registration, each with its predecessor's action.
  /// - After a veto, no later middleware is called for that store.
  /// - A thrown error fails the store run with `middlewareFailed`. The other middlewares are still called.
  func willDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict

  /// Called once the store's operation has really ended, also after a veto or a cancellation.
  ///
  /// Runs at the dispatch's scheduler, in reverse order of registration, with the action that ran. The `transaction`
  /// has the outcome, the duration and the time queued. A thrown error is reported as a warning.
  func didDispatch(transaction: MiddlewareContext, action: AnyAction, in store: AnyStore) throws
}

/// The decision of a middleware about an action and a store.
///
/// Later versions may add cases.
@nonexhaustive
public enum MiddlewareVerdict: Sendable {
  /// Passes the action unchanged.
  case pass
  /// Passes another action of the same type.
  case replace(with: AnyAction)
  /// Passes no action: the store run ends as vetoed.
  case veto(reason: String)
}
