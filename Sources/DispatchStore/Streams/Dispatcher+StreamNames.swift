// As in `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The type of that name in the module.
  public typealias StoreStream<Element: Sendable> = DispatchStore::StoreStream<Element>
  /// The type of that name in the module.
  public typealias DeltaBufferingPolicy = DispatchStore::DeltaBufferingPolicy
  /// The type of that name in the module.
  public typealias StreamBufferingPolicy = DispatchStore::StreamBufferingPolicy
  /// The type of that name in the module.
  public typealias ValueChange<Value: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::ValueChange<Value, Action>
}
