/// A middleware that is also called for each dispatch as a whole.
///
/// Registered as any middleware, and called for what is dispatched from then on: also for an action to which no
/// store responds, for a sequence, and inside that for each of its actions, which has the sequence as parent. One
/// that only follows dispatches need not implement the hooks by store.
public protocol DispatchMiddleware: Middleware {
  /// Called on the dispatching thread, before anything else of the dispatch happens.
  ///
  /// Middlewares in order of registration. Runs while no lock is held, and may dispatch.
  func dispatchWillBegin(_ dispatch: DispatchInfo)

  /// Called once the completion has run, before threads and tasks that wait for the handle resume.
  ///
  /// At the dispatch's scheduler, in reverse order of registration. Awaiting this dispatch here never ends.
  func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult)
}

extension DispatchMiddleware {
  /// Lets the action pass.
  public func willDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict { .pass }

  /// Does nothing.
  public func didDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) throws {}
}

/// One call of `dispatch`, as a `DispatchMiddleware` gets it.
public struct DispatchInfo: Sendable {
  /// Of one action, its transaction; of a sequence, the one that its actions' transactions have as parent.
  public let id: TransactionID
  /// The dispatcher, for hooks that dispatch.
  public let dispatcher: Dispatcher
  /// The transaction from inside which it was dispatched.
  public let parent: TransactionID?
  /// The actions as dispatched; one, unless it is a sequence.
  public let actions: [AnyAction]
  /// Whether it was dispatched as a list of actions.
  public let isSequence: Bool
  /// How it is scheduled.
  public let mode: Dispatcher.Mode
  /// Where it was dispatched.
  public let callSite: CallSite
  /// How long it took, from the start of its first store to its end; nil in `dispatchWillBegin`.
  ///
  /// Zero where no store was started. By the dispatcher's clock, as `timeQueued`.
  public internal(set) var duration: Duration?
  /// How long it waited before its first store started, or for its end; nil in `dispatchWillBegin`.
  public internal(set) var timeQueued: Duration?
  let scope: TransactionScope

  /// What a hook of this dispatch has kept under a key; nil before.
  ///
  /// The hooks by store of the same transaction have it as `transaction[Key.self]`. Each access takes a lock.
  public subscript<Key: TransactionKey>(key: Key.Type) -> Key.Value? {
    get { scope[key, nil] }
    nonmutating set { scope[key, nil] = newValue }
  }
}
