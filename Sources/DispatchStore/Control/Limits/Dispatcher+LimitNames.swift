// As in `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The type of that name in the module.
  public typealias DispatchLimit = DispatchStore::DispatchLimit
  /// The type of that name in the module.
  public typealias DispatchLimits = DispatchStore::DispatchLimits
}
