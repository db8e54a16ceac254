/// Receives each action that a store has handled, with the model before and after, and its duration.
///
/// Register it with `Dispatcher.register(interceptor:for:)`. Unlike a middleware, an interceptor decides nothing:
///
///     final class Audit: Interceptor {
///       func didHandle<Model, Action>(_ interception: Interception<Model, Action>) {
///         for difference in interception.differences { log(difference.description) }
///       }
///     }
///
/// For stores of a single type, use `StoreInterceptor` with a closure.
public protocol Interceptor: AnyObject, Sendable {
  /// Called once for each action and each store that has handled it, like that store's `didDispatch`.
  ///
  /// Called at the dispatch's scheduler, after the store's observers and before the completion, in reverse order of
  /// registration. Also called if the store failed, or was cancelled after its start; not after a veto or an earlier
  /// cancellation. No lock is held, and several threads may call at once. The interceptor may dispatch in every mode.
  func didHandle<Model: Sendable, Action: ActionType>(_ interception: Interception<Model, Action>)

  /// Whether the interceptor is called for a store; asked once for each action, on the dispatching thread.
  ///
  /// Commits of a store that is not intercepted cost nothing more.
  func intercepts(_ store: AnyStore) -> Bool
}

extension Interceptor {
  /// True, for every store.
  public func intercepts(_ store: AnyStore) -> Bool { true }
}
