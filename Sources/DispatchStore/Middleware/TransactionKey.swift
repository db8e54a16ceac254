/// Names a value that hooks keep for a transaction, from one hook to a later one: a span, or a time.
///
///     enum SpanKey: TransactionKey { typealias Value = Span }
///
///     func willDispatch(…) -> MiddlewareVerdict {
///       transaction[byStore: SpanKey.self] = tracer.startSpan("\(type(of: action))")
///       return .pass
///     }
///
///     func didDispatch(…) {
///       transaction[byStore: SpanKey.self]?.end()
///     }
///
/// No table is needed, and nothing is left behind: the values go with the transaction.
public protocol TransactionKey {
  /// What is kept.
  associatedtype Value: Sendable
}

extension MiddlewareContext {
  /// What a hook of this transaction has kept under a key, for whichever store; nil before.
  ///
  /// Stores that run at the same time share it. Each access takes a lock.
  public subscript<Key: TransactionKey>(key: Key.Type) -> Key.Value? {
    get { session[key, nil] }
    nonmutating set { session[key, nil] = newValue }
  }

  /// What `willDispatch` has kept under a key for this store's run; nil before.
  public subscript<Key: TransactionKey>(byStore key: Key.Type) -> Key.Value? {
    get { session[key, storeIndex] }
    nonmutating set { session[key, storeIndex] = newValue }
  }
}
