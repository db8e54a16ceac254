/// The middleware of a hook before or after actions of one type.
final class ActionHook<Action: ActionType>: Middleware {
  typealias Before = @Sendable (Action, DispatchInfo) throws -> MiddlewareVerdict
  typealias After = @Sendable (Action, StoreRunInfo) throws -> Void

  private let before: Before?
  private let after: After?

  init(before: Before? = nil, after: After? = nil) {
    (self.before, self.after) = (before, after)
  }

  var hooks: MiddlewareHooks { .stores }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict {
    guard let before, let action = action as? Action else { return .pass }
    return try before(action, transaction)
  }

  func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) throws {
    if let after, let action = action as? Action { try after(action, transaction) }
  }
}
