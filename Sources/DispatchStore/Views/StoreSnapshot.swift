/// The models of several stores at one instant.
///
/// There was a moment at which each of the stores had the model and the version that are here. It holds what the
/// models store: while the program keeps it, the next change of a store copies that by copy-on-write.
public struct StoreSnapshot<each Model: Sendable>: Sendable {
  /// The models, in the order in which the stores were given.
  public let models: (repeat each Model)
  /// Their versions, in that order.
  public let versions: [UInt64]
  /// The dispatches that had changed one of the stores then, and whose stores had not all ended.
  ///
  /// What they do may be here in part. In ascending order. Nil where no `StoreGroup` takes the snapshot: then it is not
  /// known. A group knows those that have changed a store since it was made.
  ///
  /// For a snapshot without any, take it in an action on the lane on which all of the stores' actions are
  /// dispatched: that is settled.
  public let dispatchesUnderWay: [TransactionID]?

  init(
    _ models: repeat each Model, versions: [UInt64], _ dispatchesUnderWay: [TransactionID]?
  ) {
    self.models = (repeat each models)
    self.versions = versions
    self.dispatchesUnderWay = dispatchesUnderWay
  }
}

/// What an observer of a group of stores gets.
public struct StoreGroupChange<each Model: Sendable>: Sendable {
  /// The stores as they are when the observer is called; perhaps with later changes, too.
  public let snapshot: StoreSnapshot<repeat each Model>
  /// The dispatch whose stores have ended; nil for a change outside a dispatch, and for the present models.
  public let transaction: TransactionID?

  /// The models, in the order in which the stores were given.
  public var models: (repeat each Model) { snapshot.models }

  /// Their versions, in that order.
  public var versions: [UInt64] { snapshot.versions }
}
