/// One commit of a store, as its observers hear of it.
public struct StoreChange<Model: Sendable, Action: ActionType>: Sendable {
  /// The model after the commit.
  public let model: Model
  /// The number of the commit, counted from 1; 0 for the model that a store began with.
  public let version: UInt64
  /// The action that ran; nil for an update outside a dispatch.
  public let action: Action?
  /// The dispatch that ran it; nil for an update outside a dispatch.
  public let transaction: TransactionID?
}
