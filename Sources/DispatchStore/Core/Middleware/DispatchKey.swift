/// A key for a value that hooks keep for a dispatch, from one hook to a later one: a span, or a time.
///
///     enum SpanKey: DispatchKey { typealias Value = Span }
///
///     func willDispatch(…) -> MiddlewareVerdict {
///       transaction[byStore: SpanKey.self] = tracer.startSpan("\(type(of: action))")
///       return .pass
///     }
///
///     func didDispatch(…) {
///       transaction.dispatch[byStore: SpanKey.self]?.end()
///     }
///
/// You need no table of your own: the values are released with the dispatch.
public protocol DispatchKey {
  /// The type of the value.
  associatedtype Value: Sendable
}

extension DispatchInfo {
  /// A value that a hook of this dispatch has kept under a key, for any store, or nil.
  ///
  /// Stores that run at the same time share it. Each access takes a lock.
  public subscript<Key: DispatchKey>(key: Key.Type) -> Key.Value? {
    get { session[key, nil] }
    nonmutating set { session[key, nil] = newValue }
  }

  /// A value that `willDispatch` has kept under a key for this store's run, or nil.
  public subscript<Key: DispatchKey>(byStore key: Key.Type) -> Key.Value? {
    get { session[key, storeIndex] }
    nonmutating set { session[key, storeIndex] = newValue }
  }
}
