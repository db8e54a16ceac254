// Names for this folder's public types under the module's class; see `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The type of that name in the module.
  public typealias StoreGroup<each Model: Sendable> = DispatchStore::StoreGroup<repeat each Model>
  /// The type of that name in the module.
  public typealias StoreGroupChange<each Model: Sendable> =
    DispatchStore::StoreGroupChange<repeat each Model>
  /// The type of that name in the module.
  public typealias StoreSnapshot<each Model: Sendable> =
    DispatchStore::StoreSnapshot<repeat each Model>
}
