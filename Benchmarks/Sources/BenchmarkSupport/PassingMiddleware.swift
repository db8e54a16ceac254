public import DispatchStore

/// A middleware that lets all pass.
public final class PassingMiddleware: Middleware {
  /// Makes one.
  public init() {}

  /// Lets the action pass.
  public func willDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    .pass
  }

  /// Does nothing.
  public func didDispatch(transaction: MiddlewareContext, action: AnyAction, in store: AnyStore) {
  }
}
