/// One commit of a store, as its observers get it, with the model or with a projection of it.
public struct StoreChange<Model: Sendable, Action: ActionType>: Sendable {
  /// The model after the commit; for the observer of a projection, that.
  public let model: Model
  /// The number of the commit, counted from 1; 0 for the model that a store began with.
  public let version: UInt64
  /// The action that the dispatch ran, or that `inject` was given; nil where there was none.
  public let action: Action?
  /// The dispatch that made the commit; nil for one outside a dispatch.
  public let transaction: TransactionID?

  @inlinable
  init(model: Model, version: UInt64, action: Action?, transaction: TransactionID?) {
    self.model = model
    self.version = version
    self.action = action
    self.transaction = transaction
  }
}

/// A change as it is delivered: without the store's types.
@usableFromInline
class ObservedChange: @unchecked Sendable {
  // because it is constant; a checked struct around the change would take 5 % of an observed commit
  let version: UInt64

  @usableFromInline
  init(version: UInt64) {
    self.version = version
  }
}

/// The same with its types, for the observers.
@usableFromInline
final class TypedChange<Model: Sendable, Action: ActionType>: ObservedChange, @unchecked Sendable {
  // because its superclass is, and it is constant too
  @usableFromInline let change: StoreChange<Model, Action>

  @inlinable
  init(_ change: StoreChange<Model, Action>) {
    self.change = change
    super.init(version: change.version)
  }
}
