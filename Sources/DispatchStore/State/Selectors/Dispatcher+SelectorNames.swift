// The class has the module's name, so that `DispatchStore.Selector` is looked up among its members.
extension Dispatcher {
  /// The type of that name in the module.
  public typealias CombinedSelector<Model: Sendable, Value: Sendable, each Input: Sendable> =
    DispatchStore::CombinedSelector<Model, Value, repeat each Input>
  /// The type of that name in the module.
  public typealias GettersProviding = DispatchStore::GettersProviding
  /// The type of that name in the module.
  public typealias GetterValues<
    Model: DispatchStore::GettersProviding, Action: DispatchStore::ActionType
  > = DispatchStore::GetterValues<Model, Action>
  /// The type of that name in the module.
  public typealias PartChange<Value: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::PartChange<Value, Action>
  /// The type of that name in the module.
  public typealias Selector<Model: Sendable, Value: Sendable> =
    DispatchStore::Selector<Model, Value>
}
