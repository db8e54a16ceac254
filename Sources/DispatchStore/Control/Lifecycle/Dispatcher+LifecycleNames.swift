// Names of the module as members of `Dispatcher`: see `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The module's type of the same name.
  public typealias DrainReport = DispatchStore::DrainReport
  /// The module's type of the same name.
  public typealias InFlightDispatch = DispatchStore::InFlightDispatch
  /// The module's type of the same name.
  public typealias InFlightDispatches = DispatchStore::InFlightDispatches
}
