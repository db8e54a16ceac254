extension DispatchOptions {
  /// Holds the dispatch in its turn until a store's model fulfils a condition.
  ///
  /// The condition is checked right before the dispatch starts, and again after each commit of the store that
  /// notifies observers. It holds at that moment. Between the check and the dispatch's first store, another thread
  /// may commit. To prevent that, use one lane or one exclusion key for all dispatches that change the store.
  ///
  /// Several conditions must hold at once. With exclusion keys, the dispatch waits for the condition without them,
  /// and checks it again once it has them.
  ///
  /// While it waits, the dispatch keeps its place in its lane, without a thread; a `.sync` caller blocks. So dispatch
  /// the action that fulfils the condition elsewhere. Cancelling ends the wait, and so does a `timeout(_:)` or
  /// `deadline(_:)`, with an error that names the store. Without a limit it lasts until the condition holds. The
  /// store may be of another dispatcher, or of none.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - condition: Called on the thread that starts the dispatch, and on the one that commits, never under a lock.
  ///     It must be quick, and read its argument alone.
  public static func when<Model, Action>(
    _ store: Store<Model, Action>, _ condition: @escaping @Sendable (Model) -> Bool
  ) -> DispatchOptions {
    let condition = StoreCondition(store, condition)
    return DispatchOptions().controlled { $0.conditions.append(condition) }
  }
}
