/// A commit of a store, as its observers receive it, with the model or a projection of it.
public struct StoreChange<Model: Sendable, Action: ActionType>: Sendable {
  /// The model after the commit.
  ///
  /// For the observer of a projection, the projection.
  public let model: Model
  /// The number of the commit, counted from 1.
  ///
  /// The model that a store began with is 0.
  public let version: UInt64
  /// The action that the dispatch ran, or that was passed to `inject`.
  ///
  /// Nil if there was none.
  public let action: Action?
  /// The dispatch that made the commit, or nil outside a dispatch.
  public let dispatchID: DispatchID?

  @inlinable
  init(model: Model, version: UInt64, action: Action?, dispatchID: DispatchID?) {
    self.model = model
    self.version = version
    self.action = action
    self.dispatchID = dispatchID
  }
}

/// A change as the notifier passes it to observers, without the store's types.
///
/// Valid during the call.
@usableFromInline
struct ObservedChange {
  let version: UInt64
  /// The address of the `StoreChange`, or nil for observers that need no model.
  fileprivate let address: UnsafeRawPointer?

  init(version: UInt64, at address: UnsafeRawPointer? = nil) {
    self.version = version
    self.address = address
  }

  /// The address of the `StoreChange`, for an observer that needs the model.
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

  /// Calls a closure with the change as observers receive it.
  func withObserved(_ body: (ObservedChange) -> Void) {
    body(ObservedChange(version: version))
  }
}

/// A change that is delivered later, with the model.
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
