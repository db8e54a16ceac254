/// A commit of a store, as a child's observers receive it.
public struct ChildChange<Model: Sendable>: Sendable {
  /// The part after the commit.
  public let model: Model
  /// The store's `version` after the commit, counted from 1; 0 for the initial model.
  public let version: UInt64
  /// The store's action (not the child's) that was dispatched, or passed to `inject`; nil if there was none.
  public let action: AnyAction?
  /// The dispatch that made the commit; nil if it was made outside a dispatch.
  public let dispatchID: DispatchID?

  @inlinable
  init(_ model: Model, of commit: PartCommit) {
    self.init(
      model: model, version: commit.version, action: commit.action,
      dispatchID: commit.dispatchID)
  }

  @inlinable
  init(model: Model, version: UInt64, action: AnyAction?, dispatchID: DispatchID?) {
    self.model = model
    self.version = version
    self.action = action
    self.dispatchID = dispatchID
  }
}

extension ChildChange {
  /// Converts the change for a part that always exists.
  @inlinable
  func unwrapped<Value>() -> ChildChange<Value> where Model == Value? {
    ChildChange<Value>(
      model: model!, version: version, action: action, dispatchID: dispatchID)
  }
}
