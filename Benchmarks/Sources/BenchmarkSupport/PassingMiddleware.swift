public import DispatchStore

/// A middleware that lets all pass.
public final class PassingMiddleware: Middleware {
  /// The hooks by store.
  public let hooks = MiddlewareHooks.stores

  /// Makes one.
  public init() {}

  /// Lets the action pass.
  public func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    .pass
  }

  /// Does nothing.
  public func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
  }
}
