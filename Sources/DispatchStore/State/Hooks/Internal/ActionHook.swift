/// The middleware of a hook before or after actions of one type.
final class ActionHook<Action: ActionType>: Middleware {
  /// Returns the action of a store if the hook is called for it.
  typealias Typed = @Sendable (AnyAction, AnyStore) -> Action?
  typealias Before = @Sendable (Action, DispatchInfo) throws -> MiddlewareVerdict
  typealias After = @Sendable (Action, StoreRunInfo) throws -> Void

  private let typed: Typed
  private let before: Before?
  private let after: After?

  init(
    _ typed: @escaping Typed = { action, _ in
      action as? Action ?? HandledAction.unwrapped(action) as? Action
    }, before: Before? = nil, after: After? = nil
  ) {
    (self.typed, self.before, self.after) = (typed, before, after)
  }

  var hooks: MiddlewareHooks { .stores }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict {
    guard let before, let own = typed(action, store) else { return .pass }
    let verdict = try before(own, transaction)
    guard case .replace(let new) = verdict else { return verdict }
    // A store of handlers gets the program's own action, or another in its wrapping if that was dispatched.
    let base = HandledAction.unwrapped(new)
    return .replace(with: action is HandledAction ? HandledAction(base) : base)
  }

  func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) throws {
    if let after, let action = typed(action, store) { try after(action, transaction) }
  }
}

extension Store {
  /// Returns the action of this store, which is not kept alive, in hooks for it.
  var typedForHooks: ActionHook<Action>.Typed {
    { [weak self] action, store in
      guard let self, self === store else { return nil }
      return type(of: reducer).typed(action)
    }
  }
}
