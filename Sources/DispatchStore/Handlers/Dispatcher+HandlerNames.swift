// As in `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The type of that name in the module.
  public typealias HandledAction = DispatchStore::HandledAction
  /// The type of that name in the module.
  public typealias HandlerStore<Model: Sendable> = DispatchStore::HandlerStore<Model>
  /// The type of that name in the module.
  public typealias ChildHandlerStore<Model: Sendable> = DispatchStore::ChildHandlerStore<Model>
  /// The type of that name in the module.
  public typealias OptionalChildHandlerStore<Model: Sendable> =
    DispatchStore::OptionalChildHandlerStore<Model>
  /// The type of that name in the module.
  public typealias HandlerOperation<Model: Sendable> = DispatchStore::HandlerOperation<Model>
  /// The type of that name in the module.
  public typealias Handlers<Model: Sendable> = DispatchStore::Handlers<Model>
  /// The type of that name in the module.
  public typealias HandlerBuilder<Model: Sendable> = DispatchStore::HandlerBuilder<Model>
  /// The type of that name in the module.
  public typealias HandlerComponent = DispatchStore::HandlerComponent
  /// The type of that name in the module.
  public typealias On<Model: Sendable> = DispatchStore::On<Model>
  /// The type of that name in the module.
  public typealias Part<Model: Sendable> = DispatchStore::Part<Model>
  /// The type of that name in the module.
  public typealias Applying<Model: Sendable> = DispatchStore::Applying<Model>
  /// The type of that name in the module.
  public typealias Performing<Model: Sendable> = DispatchStore::Performing<Model>
  /// The type of that name in the module.
  public typealias Operating<Model: Sendable> = DispatchStore::Operating<Model>
  /// The type of that name in the module.
  public typealias Reduction = DispatchStore::Reduction
}
