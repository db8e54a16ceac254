extension Dispatcher {
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
