public final class LoggerMiddleware: Middleware {
  public init() {}
  public func willDispatch(transaction: DispatchTransaction, action: AnyAction, in store: AnyStore) -> MiddlewareVerdict { .pass }
  public func didDispatch(transaction: DispatchTransaction, action: AnyAction, in store: AnyStore) {}
}
