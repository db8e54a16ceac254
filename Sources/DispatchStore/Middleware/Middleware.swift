/// Two hooks around each store run of a dispatch.
///
/// Hooks run while no lock is held, may dispatch in every mode, and may be called on several threads
/// at once. A middleware is registered once, however often `register(middleware:)` is called.
public protocol Middleware: AnyObject, Sendable {
  /// Called before anything of the dispatch is scheduled; decides which action the store gets, if any.
  ///
  /// On the dispatching thread (within `dispatch(actions:)`: where the action's turn comes), once for
  /// each store that takes part: stores in `waitFor` order, middlewares in order of registration, each
  /// with its predecessor's action. After a veto no later middleware is called for that store. An error
  /// that it throws fails the store run, with `middlewareFailed`; the other middlewares are called all the same.
  func willDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict

  /// Called once the store's operation has really ended, also after a veto or a cancellation.
  ///
  /// At the dispatch's scheduler, in reverse order of registration, with the action that ran, and with its
  /// outcome, duration and time queued in `transaction`. An error that it throws is an incident.
  func didDispatch(transaction: MiddlewareContext, action: AnyAction, in store: AnyStore) throws
}

/// What a middleware decides about an action and a store; later versions may add cases.
@nonexhaustive
public enum MiddlewareVerdict: Sendable {
  /// The action as it is.
  case pass
  /// Another action of the same type.
  case replace(with: AnyAction)
  /// No action: the store run ends as vetoed.
  case veto(reason: String)
}
