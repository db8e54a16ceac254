// As in `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The type of that name in the module.
  public typealias Diagnosis = DispatchStore::Diagnosis
  /// The type of that name in the module.
  public typealias Watchdog = DispatchStore::Watchdog
}
