public import DispatchStore
private import Synchronization

/// A middleware that counts the calls of its hooks.
public final class CountingMiddleware: Middleware {
  private let begun = Atomic(0)
  private let ended = Atomic(0)

  /// The hooks by store.
  public let hooks = MiddlewareHooks.stores

  /// Makes one.
  public init() {}

  /// Counts, and lets the action pass.
  public func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    begun.add(1, ordering: .relaxed)
    return .pass
  }

  /// Counts.
  public func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    ended.add(1, ordering: .relaxed)
  }
}
