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

/// A change as the notifier passes it to observers, without the store's types: valid during the call.
@usableFromInline
struct ObservedChange {
  let version: UInt64
  /// Where the `StoreChange` is; nil for observers that get no model.
  fileprivate let address: UnsafeRawPointer?

  init(version: UInt64, at address: UnsafeRawPointer? = nil) {
    self.version = version
    self.address = address
  }

  /// The change, for an observer that gets the model.
  @usableFromInline
  var change: UnsafeRawPointer { address.unsafelyUnwrapped }
}

/// A change that is delivered later, or by another thread than the one that made it.
@usableFromInline
class KeptChange: @unchecked Sendable {
  // because it is constant
  let version: UInt64

  @usableFromInline
  init(version: UInt64) {
    self.version = version
  }

  /// Passes it to a closure as observers get it.
  func withObserved(_ body: (ObservedChange) -> Void) {
    body(ObservedChange(version: version))
  }
}

/// The same with the model.
@usableFromInline
final class TypedChange<Model: Sendable, Action: ActionType>: KeptChange, @unchecked Sendable {
  // because its superclass is, and it is constant too
  let change: StoreChange<Model, Action>

  @usableFromInline
  init(_ change: StoreChange<Model, Action>) {
    self.change = change
    super.init(version: change.version)
  }

  override func withObserved(_ body: (ObservedChange) -> Void) {
    withUnsafePointer(to: change) { body(ObservedChange(version: version, at: $0)) }
  }
}
