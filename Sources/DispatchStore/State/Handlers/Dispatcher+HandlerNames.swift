// Aliases, for the reason given in `Dispatcher+Names.swift`.
extension Dispatcher {
  /// An alias of the module's type.
  public typealias HandledAction = DispatchStore::HandledAction
  /// An alias of the module's type.
  public typealias HandlerStore<Model: Sendable> = DispatchStore::HandlerStore<Model>
  /// An alias of the module's type.
  public typealias ChildHandlerStore<Model: Sendable> = DispatchStore::ChildHandlerStore<Model>
  /// An alias of the module's type.
  public typealias OptionalChildHandlerStore<Model: Sendable> =
    DispatchStore::OptionalChildHandlerStore<Model>
  /// An alias of the module's type.
  public typealias HandlerOperation<Model: Sendable> = DispatchStore::HandlerOperation<Model>
  /// An alias of the module's type.
  public typealias Handlers<Model: Sendable> = DispatchStore::Handlers<Model>
  /// An alias of the module's type.
  public typealias HandlerBuilder<Model: Sendable> = DispatchStore::HandlerBuilder<Model>
  /// An alias of the module's type.
  public typealias HandlerComponent = DispatchStore::HandlerComponent
  /// An alias of the module's type.
  public typealias On<Model: Sendable> = DispatchStore::On<Model>
  /// An alias of the module's type.
  public typealias Part<Model: Sendable> = DispatchStore::Part<Model>
  /// An alias of the module's type.
  public typealias Applying<Model: Sendable> = DispatchStore::Applying<Model>
  /// An alias of the module's type.
  public typealias Performing<Model: Sendable> = DispatchStore::Performing<Model>
  /// An alias of the module's type.
  public typealias Operating<Model: Sendable> = DispatchStore::Operating<Model>
  /// An alias of the module's type.
  public typealias Reduction = DispatchStore::Reduction
}
