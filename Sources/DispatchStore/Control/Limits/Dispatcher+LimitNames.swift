// Names of the module as members of `Dispatcher`: see `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The module's type of the same name.
  public typealias DispatchLimit = DispatchStore::DispatchLimit
  /// The module's type of the same name.
  public typealias DispatchLimits = DispatchStore::DispatchLimits
}
