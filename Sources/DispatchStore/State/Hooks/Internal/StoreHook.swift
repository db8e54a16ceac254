/// The middleware of a hook before or after the actions of one store.
final class StoreHook<Model: Sendable, Action: ActionType>: Middleware, @unchecked Sendable {
  // because `store` changes only when the store is released
  typealias Before = @Sendable (Action, DispatchInfo) throws -> MiddlewareVerdict
  typealias After = @Sendable (Action, StoreRunInfo) throws -> Void

  private weak var store: Store<Model, Action>?
  private let before: Before?
  private let after: After?

  init(for store: Store<Model, Action>, before: Before? = nil, after: After? = nil) {
    self.store = store
    (self.before, self.after) = (before, after)
  }

  var hooks: MiddlewareHooks { .stores }

  private func typed(_ action: AnyAction, in store: AnyStore) -> Action? {
    guard let own = self.store, own === store else { return nil }
    return own.reducer.typed(action)
  }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict {
    guard let before, let action = typed(action, in: store) else { return .pass }
    let verdict = try before(action, transaction)
    // A store of handlers gets the program's own action.
    guard case .replace(let new as HandledAction) = verdict else { return verdict }
    return .replace(with: new.base)
  }

  func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) throws {
    if let after, let action = typed(action, in: store) { try after(action, transaction) }
  }
}
