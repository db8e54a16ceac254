// Aliases, for the reason given in `Dispatcher+Names.swift`.
extension Dispatcher {
  /// An alias of the module's type.
  public typealias StoreStream<Element: Sendable> = DispatchStore::StoreStream<Element>
  /// An alias of the module's type.
  public typealias DeltaBufferingPolicy = DispatchStore::DeltaBufferingPolicy
  /// An alias of the module's type.
  public typealias StreamBufferingPolicy = DispatchStore::StreamBufferingPolicy
  /// An alias of the module's type.
  public typealias ValueChange<Value: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::ValueChange<Value, Action>
}
