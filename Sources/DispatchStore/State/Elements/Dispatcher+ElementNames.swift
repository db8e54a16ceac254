// Names for this folder's public types under the module's class; see `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The type of that name in the module.
  public typealias ElementChange<Element: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::ElementChange<Element, Action>
  /// The type of that name in the module.
  public typealias KeyedChanges<Key: Hashable, Value> =
    DispatchStore::KeyedChanges<Key, Value>
  /// The type of that name in the module.
  public typealias KeyedCollection = DispatchStore::KeyedCollection
  /// The type of that name in the module.
  public typealias KeyedDelta<Key: Hashable & Sendable, Value: Sendable> =
    DispatchStore::KeyedDelta<Key, Value>
  /// The type of that name in the module.
  public typealias TrackedDictionary<Key: Hashable & Sendable, Value: Sendable> =
    DispatchStore::TrackedDictionary<Key, Value>
  /// The type of that name in the module.
  public typealias TrackingCheckpoint = DispatchStore::TrackingCheckpoint
}
