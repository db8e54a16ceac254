// Names of the module as members of `Dispatcher`: see `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The module's type of the same name.
  public typealias Diagnosis = DispatchStore::Diagnosis
  /// The module's type of the same name.
  public typealias Watchdog = DispatchStore::Watchdog
}
