/// A store of any model and action: the members that need no such types.
///
/// Cast it to `Store` for the model. The cast fails in a hook that is called for a weak store that is gone.
public protocol StoreType: AnyObject, Sendable {
  /// The name under which the store is registered.
  var identifier: String { get }
  /// The number of the store's commits so far.
  var version: UInt64 { get }
  /// The type of the actions that the store responds to.
  var actionType: any ActionType.Type { get }
}

/// Any store.
public typealias AnyStore = any StoreType

/// Stands in for a weakly held store that is gone, if a hook is still called for it.
final class DepartedStore: StoreType {
  let identifier: String
  let actionType: any ActionType.Type
  var version: UInt64 { 0 }

  init(identifier: String, actionType: any ActionType.Type) {
    self.identifier = identifier
    self.actionType = actionType
  }
}
