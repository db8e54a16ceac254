// Names for this folder's public types under the module's class; see `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The type of that name in the module.
  public typealias ChildChange<Model: Sendable> = DispatchStore::ChildChange<Model>
  /// The type of that name in the module.
  public typealias ChildStore<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::ChildStore<Model, Action>
  /// The type of that name in the module.
  public typealias OptionalChildStore<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::OptionalChildStore<Model, Action>
  /// The type of that name in the module.
  public typealias ParentStore = DispatchStore::ParentStore
  /// The type of that name in the module.
  public typealias CombinedReducer<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::CombinedReducer<Model, Action>
  /// The type of that name in the module.
  public typealias ForEachReducer<
    Model: Sendable, Action: DispatchStore::ActionType, ID: Hashable & Sendable, Element: Sendable,
    ElementAction: DispatchStore::ActionType
  > = DispatchStore::ForEachReducer<Model, Action, ID, Element, ElementAction>
  /// The type of that name in the module.
  public typealias PartReducer<
    Model: Sendable, Action: DispatchStore::ActionType, Part: Sendable,
    PartAction: DispatchStore::ActionType
  > = DispatchStore::PartReducer<Model, Action, Part, PartAction>
  /// The type of that name in the module.
  public typealias ReductionEffect = DispatchStore::ReductionEffect
  /// The type of that name in the module.
  public typealias WrappedReducer<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::WrappedReducer<Model, Action>
}
