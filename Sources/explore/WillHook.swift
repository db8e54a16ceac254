import DispatchStore

/// Calls a closure before each store runs an action.
final class WillHook: Middleware {
  typealias Body = @Sendable (DispatchInfo, AnyAction, AnyStore) throws -> MiddlewareVerdict

  private let body: Body

  init(_ body: @escaping Body) {
    self.body = body
  }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict {
    try body(transaction, action, store)
  }
}
