extension Dispatcher {
  /// Notifies an observer of several stores, once for each dispatch that has changed some of them.
  ///
  /// Behaves like `StoreGroup.observe(initial:_:)`, with a group that the token retains.
  ///
  /// - Parameters:
  ///   - stores: The stores, in the order in which the observer gets the models.
  ///   - initial: Whether the observer is first notified of the current models.
  ///   - body: Called with the models at the time of the call, never while a lock is held.
  public func observe<each Model: Sendable, each Action: ActionType>(
    stores: repeat Store<each Model, each Action>, initial: Bool = false,
    _ body: @escaping @Sendable (StoreGroupChange<repeat each Model>) -> Void
  ) -> ObserverToken {
    StoreGroup(repeat each stores).observe(initial: initial, body)
  }

  /// Takes a snapshot of several stores at one instant.
  ///
  /// Behaves like `StoreGroup.snapshot()`, but without a group the dispatches under way are not known.
  ///
  /// - Parameter stores: The stores, in the order of the snapshot's models.
  public func snapshot<each Model: Sendable, each Action: ActionType>(
    _ stores: repeat Store<each Model, each Action>
  ) -> StoreSnapshot<repeat each Model> {
    StoreTuple(repeat each stores).snapshot { nil }
  }
}
