// As in `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The type of that name in the module.
  public typealias RateEdges = DispatchStore::RateEdges
  /// The type of that name in the module.
  public typealias RetryBackoff = DispatchStore::RetryBackoff
}
