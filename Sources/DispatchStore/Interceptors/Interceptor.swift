/// Gets each action that a store has handled, with the model before and after, and how long it took.
///
/// Registered with `Dispatcher.register(interceptor:for:)`. Unlike a middleware it decides nothing:
///
///     final class Audit: Interceptor {
///       func didHandle<Model, Action>(_ interception: Interception<Model, Action>) {
///         for difference in interception.differences { log(difference.description) }
///       }
///     }
///
/// One for a single type of stores is `StoreInterceptor`, with a closure.
public protocol Interceptor: AnyObject, Sendable {
  /// Called once for each action and each store that has handled it, as that store's `didDispatch` is.
  ///
  /// At the dispatch's scheduler, after the store's observers and before the completion, also where the
  /// store failed or was cancelled after its start; not after a veto, or a cancellation before that. While no
  /// lock is held, perhaps on several threads at once, and in reverse order of registration. It may dispatch
  /// in every mode.
  func didHandle<Model: Sendable, Action: ActionType>(_ interception: Interception<Model, Action>)

  /// Whether it is called for a store; called once for each action, on the dispatching thread.
  ///
  /// Commits of a store that it does not intercept cost nothing more.
  func intercepts(_ store: AnyStore) -> Bool
}

extension Interceptor {
  /// True: each store.
  public func intercepts(_ store: AnyStore) -> Bool { true }
}
