public import DispatchStore
private import Synchronization

/// A middleware that appends the end of each store's run to an array under a lock, and empties the array at 10,000.
public final class AppendingMiddleware: Middleware {
  private let runs = Mutex<[(StoreRunInfo, any ActionType)]>([])

  /// The hooks by store.
  public let hooks = MiddlewareHooks.stores

  /// Makes one.
  public init() {}

  /// Appends the run.
  public func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    runs.withLock { runs in
      if runs.count == 10_000 { runs.removeAll(keepingCapacity: true) }
      runs.append((transaction, transaction.action))
    }
  }
}
