/// A middleware that is also called for each dispatch as a whole.
///
/// Register it like any other middleware. It is called for every later dispatch, even if no store responds to the
/// action. It is called for a sequence, and also for each action of it, whose parent is the sequence. If it only
/// follows dispatches, it need not implement the hooks by store.
public protocol DispatchMiddleware: Middleware {
  /// Called on the dispatching thread, before anything else of the dispatch happens.
  ///
  /// Middlewares are called in order of registration. No lock is held, and the hook may dispatch.
  func dispatchWillBegin(_ dispatch: DispatchInfo)

  /// Called once the completion has run, before threads and tasks that wait for the handle resume.
  ///
  /// Runs at the dispatch's scheduler, in reverse order of registration. Awaiting this dispatch here is a deadlock.
  func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult)
}

extension DispatchMiddleware {
  /// Returns `.pass`.
  public func willDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict { .pass }

  /// Does nothing.
  public func didDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) throws {}
}

/// A call of `dispatch`, as a `DispatchMiddleware` receives it.
public struct DispatchInfo: Sendable {
  /// The transaction of the action.
  ///
  /// For a sequence, the parent of its actions' transactions.
  public let id: DispatchID
  /// The dispatcher, for hooks that dispatch.
  public let dispatcher: Dispatcher
  /// The transaction inside which this dispatch was made.
  public let parent: DispatchID?
  /// The actions as dispatched: one, unless it is a sequence.
  public let actions: [AnyAction]
  /// Whether it was dispatched as a list of actions.
  public let isSequence: Bool
  /// The mode of the dispatch.
  public let mode: Dispatcher.Mode
  /// The source location of the dispatch.
  public let callSite: CallSite
  /// The time from the start of the first store to the end.
  ///
  /// Nil in `dispatchWillBegin`.
  ///
  /// Zero if no store was started. Measured by the dispatcher's clock, like `timeQueued`.
  public internal(set) var duration: Duration?
  /// The time before the first store started, or before the end if none did.
  ///
  /// Nil in `dispatchWillBegin`.
  public internal(set) var timeQueued: Duration?
  let scope: TransactionScope

  /// A value that a hook of this dispatch has kept under a key, or nil.
  ///
  /// The hooks by store of the same transaction access it as `transaction[Key.self]`. Each access takes a lock.
  public subscript<Key: DispatchKey>(key: Key.Type) -> Key.Value? {
    get { scope[key, nil] }
    nonmutating set { scope[key, nil] = newValue }
  }
}
