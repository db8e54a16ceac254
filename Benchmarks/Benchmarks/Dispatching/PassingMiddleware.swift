import DispatchStore

/// A middleware that lets all pass.
final class PassingMiddleware: Middleware {
  func willDispatch(
    transaction: DispatchTransaction, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    .pass
  }

  func didDispatch(transaction: DispatchTransaction, action: AnyAction, in store: AnyStore) {}
}
