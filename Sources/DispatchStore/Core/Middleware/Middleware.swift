/// Hooks around each dispatch, and around each store run in it.
///
/// All hooks have defaults: implement those that you need. They run while no lock is held, and may dispatch in every
/// mode. Several threads may call them at once. A middleware is registered once, however often you call
/// `register(middleware:)`.
///
/// ```swift
/// final class Tracing: Middleware {
///   var hooks: MiddlewareHooks { .dispatches }
///
///   func dispatchWillBegin(_ dispatch: DispatchInfo) {
///     let span = Span(parent: Span.current)
///     dispatch[SpanKey.self] = span
///     dispatch.bind(Span.$current, to: span)
///   }
///
///   func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {
///     dispatch[SpanKey.self]?.end()
///   }
/// }
/// ```
///
/// For a hook on one type of actions or on one store, make a `Hook` from a closure.
public protocol Middleware: AnyObject, Sendable {
  /// The hooks that are called; all of them by default.
  ///
  /// Read once, by `register(middleware:)`. Hooks that are not called cost nothing: without hooks by store, stores run
  /// as if there were no middleware.
  var hooks: MiddlewareHooks { get }

  /// Called on the dispatching thread, before anything else of the dispatch happens.
  ///
  /// Also called if no store responds. It is called for a sequence, and for each action of it, whose parent is the
  /// sequence. Middlewares are called in order of registration.
  func dispatchWillBegin(_ dispatch: DispatchInfo)

  /// Called before anything of the dispatch is scheduled.
  ///
  /// Decides which action the store gets, if any.
  ///
  /// Runs on the dispatching thread, once for each store that takes part. In `dispatch(actions:)`, it runs when the
  /// action's turn comes.
  ///
  /// - Stores come in `waitFor` order. Middlewares come in order of registration, each with its predecessor's action.
  /// - After a veto, no later middleware is called for that store.
  /// - A thrown error fails the store run with `middlewareFailed`. The other middlewares are still called.
  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict

  /// Called once the store's operation has really ended, also after a cancellation, or a veto by this or a later
  /// middleware.
  ///
  /// Runs at the dispatch's scheduler, in reverse order of registration, with the action that ran. A thrown error is
  /// reported as a warning.
  func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) throws

  /// Called once the completion has run, before threads and tasks that wait for the handle resume.
  ///
  /// If the dispatch has ended at its deadline before its stores, it is called once the stores have ended. It may then
  /// come before the completion, or while that runs, and gets the result of the handle if there is one.
  ///
  /// Runs at the dispatch's scheduler, in reverse order of registration. Awaiting this dispatch here is a deadlock.
  func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult)
}

extension Middleware {
  /// All hooks.
  public var hooks: MiddlewareHooks { .all }

  /// Does nothing.
  public func dispatchWillBegin(_ dispatch: DispatchInfo) {}

  /// Returns `.pass`.
  public func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict { .pass }

  /// Does nothing.
  public func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) throws {
  }

  /// Does nothing.
  public func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {}
}

/// The hooks of a middleware that are called.
@nonexhaustive
public enum MiddlewareHooks: Sendable {
  /// All hooks.
  case all
  /// The hooks by store: `willDispatch` and `didDispatch`.
  case stores
  /// The hooks of whole dispatches: `dispatchWillBegin` and `dispatchDidEnd`.
  case dispatches
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
