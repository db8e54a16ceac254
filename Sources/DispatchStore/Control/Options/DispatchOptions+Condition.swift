extension DispatchOptions {
  /// Lets the dispatch wait in its turn until a store's model fulfils a condition.
  ///
  /// It is checked right before the dispatch starts, and again after each commit of the store that notifies observers.
  /// It holds at that moment:
  /// between the check and the dispatch's first store another thread may commit, unless the program keeps that from
  /// happening, by one lane or one exclusion key for all that changes it. Of several conditions all hold at once. With
  /// exclusion keys, the dispatch waits for the condition without them, and checks it again once it has them.
  ///
  /// While it waits it keeps its place in its lane, without a thread; a `.sync` caller blocks. So what fulfils the
  /// condition is dispatched elsewhere. Cancelling ends the wait, and so does a `timeout(_:)` or `deadline(_:)`, with an
  /// error that names the store; without one it lasts until the condition holds. The store may be of another dispatcher,
  /// or of none.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - condition: Called on the thread that starts the dispatch, and on the one that commits, never under a lock: it
  ///     reads its argument alone, and is quick.
  public static func when<Model, Action>(
    _ store: Store<Model, Action>, _ condition: @escaping @Sendable (Model) -> Bool
  ) -> DispatchOptions {
    DispatchOptions().when(store, condition)
  }

  /// The same options with one more condition, as `DispatchOptions.when(_:_:)`.
  public func when<Model, Action>(
    _ store: Store<Model, Action>, _ condition: @escaping @Sendable (Model) -> Bool
  ) -> DispatchOptions {
    controlled { $0.conditions.append(StoreCondition(store, condition)) }
  }
}
