/// A store of any model and action: the members that need no such types.
///
/// Cast it to `Store` for the model. The cast fails in a hook that is called for a weak store that is gone.
public protocol StoreType: AnyObject, Sendable {
  /// The name under which the store is registered.
  var identifier: String { get }
  /// The number of the store's commits so far.
  var version: UInt64 { get }
}

/// Any store.
public typealias AnyStore = any StoreType

/// Stands in for a weakly held store that is gone, if a hook is still called for it.
final class DepartedStore: StoreType {
  let identifier: String
  var version: UInt64 { 0 }

  init(identifier: String) {
    self.identifier = identifier
  }
}
