/// A commit as the notifier passes it to inline observers of the model.
///
/// Each makes a change of its own of it: a copy of that would count references which are not there.
@usableFromInline
struct ObservedModel<Model: Sendable, Action: ActionType>: Sendable {
  @usableFromInline let model: Model
  @usableFromInline let version: UInt64
  @usableFromInline let action: Action?
  @usableFromInline let dispatchID: DispatchID?
  @usableFromInline let isInitial: Bool

  @inlinable
  init(
    _ model: Model, version: UInt64, action: Action?, dispatchID: DispatchID?,
    isInitial: Bool = false
  ) {
    self.model = model
    self.version = version
    self.action = action
    self.dispatchID = dispatchID
    self.isInitial = isInitial
  }
}

/// A change as the notifier passes it to observers, without the store's types.
///
/// Valid during the call.
@usableFromInline
struct ObservedChange {
  let version: UInt64
  /// The address of the `ObservedModel`, or nil for observers that need no model.
  fileprivate let address: UnsafeRawPointer?

  init(version: UInt64, at address: UnsafeRawPointer? = nil) {
    self.version = version
    self.address = address
  }

  /// The address of the `ObservedModel`, for an observer that needs it.
  @usableFromInline
  var model: UnsafeRawPointer { address.unsafelyUnwrapped }
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
  let change: ObservedModel<Model, Action>

  @usableFromInline
  init(_ change: ObservedModel<Model, Action>) {
    self.change = change
    super.init(version: change.version)
  }

  override func withObserved(_ body: (ObservedChange) -> Void) {
    withUnsafePointer(to: change) { body(ObservedChange(version: version, at: $0)) }
  }
}
