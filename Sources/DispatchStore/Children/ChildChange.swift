/// One commit of a store, as the observers of a child get it.
public struct ChildChange<Model: Sendable>: Sendable {
  /// The part after the commit.
  public let model: Model
  /// The number of the commit, counted from 1, as `version` of the store; 0 for the model that it began with.
  public let version: UInt64
  /// The store's action, not the child's, that the dispatch ran, or that `inject` was given; nil where there was none.
  public let action: AnyAction?
  /// The dispatch that made the commit; nil for one outside a dispatch.
  public let transaction: TransactionID?

  @inlinable
  init(_ model: Model, of commit: PartCommit) {
    self.init(
      model: model, version: commit.version, action: commit.action,
      transaction: commit.transaction)
  }

  @inlinable
  init(model: Model, version: UInt64, action: AnyAction?, transaction: TransactionID?) {
    self.model = model
    self.version = version
    self.action = action
    self.transaction = transaction
  }
}

extension ChildChange {
  /// The same of a part that is always there.
  @inlinable
  func unwrapped<Value>() -> ChildChange<Value> where Model == Value? {
    ChildChange<Value>(
      model: model!, version: version, action: action, transaction: transaction)
  }
}
