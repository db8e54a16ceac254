extension Dispatcher {
  /// Notifies an observer of several stores, once for each dispatch that has changed some of them.
  ///
  /// As `StoreGroup.observe(initial:_:)`, with a group that the token keeps.
  ///
  /// - Parameters:
  ///   - stores: The stores, in the order in which the observer gets the models.
  ///   - initial: Whether it is notified of the present models first.
  ///   - body: Called with the models as they are then, never while a lock is held.
  public func observe<each Model: Sendable, each Action: ActionType>(
    stores: repeat Store<each Model, each Action>, initial: Bool = false,
    _ body: @escaping @Sendable (StoreGroupChange<repeat each Model>) -> Void
  ) -> ObserverToken {
    StoreGroup(repeat each stores).observe(initial: initial, body)
  }

  /// Takes a snapshot of several stores at one instant.
  ///
  /// As `StoreGroup.snapshot()`, without a group: which dispatches are under way in the stores is not known.
  ///
  /// - Parameter stores: The stores, in the order of the snapshot's models.
  public func snapshot<each Model: Sendable, each Action: ActionType>(
    _ stores: repeat Store<each Model, each Action>
  ) -> StoreSnapshot<repeat each Model> {
    StoreTuple(repeat each stores).snapshot { nil }
  }
}
