// Names of the module as members of `Dispatcher`: see `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The module's type of the same name.
  public typealias RateEdges = DispatchStore::RateEdges
  /// The module's type of the same name.
  public typealias RetryBackoff = DispatchStore::RetryBackoff
}
