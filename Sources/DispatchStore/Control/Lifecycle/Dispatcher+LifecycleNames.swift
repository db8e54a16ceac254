// As in `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The type of that name in the module.
  public typealias DrainReport = DispatchStore::DrainReport
  /// The type of that name in the module.
  public typealias InFlightDispatch = DispatchStore::InFlightDispatch
  /// The type of that name in the module.
  public typealias InFlightDispatches = DispatchStore::InFlightDispatches
}
