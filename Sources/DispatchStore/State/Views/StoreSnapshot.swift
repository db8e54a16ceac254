/// The models of several stores at one instant.
///
/// At one moment, each of the stores had this model and this version. The snapshot retains the models: while you keep
/// it, the next change of a store triggers copy-on-write.
public struct StoreSnapshot<each Model: Sendable>: Sendable {
  /// The models, in the order of the stores.
  public let models: (repeat each Model)
  /// The versions of the models, in the order of the stores.
  public let versions: [UInt64]
  /// The dispatches that had changed one of the stores, and whose stores had not all ended or were not saved, in
  /// ascending order.
  ///
  /// The snapshot may have only a part of their changes. A group knows only the dispatches that have changed a store
  /// since the group was made. Nil if the snapshot was not taken by a `StoreGroup`, because then they are not known.
  /// Each read sorts them.
  ///
  /// To get a snapshot without such dispatches, take it in an action on the one lane to which all of the stores'
  /// actions are dispatched.
  public var dispatchesUnderWay: [DispatchID]? { underWay?.sorted() }

  // Sorted only when read: a snapshot may be taken for each dispatch, while thousands of others wait to be saved.
  private let underWay: [DispatchID]?

  init(
    _ models: repeat each Model, versions: [UInt64], _ dispatchesUnderWay: [DispatchID]?
  ) {
    self.models = (repeat each models)
    self.versions = versions
    underWay = dispatchesUnderWay
  }
}
