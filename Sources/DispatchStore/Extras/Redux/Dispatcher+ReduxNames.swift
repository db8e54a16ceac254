extension Dispatcher {
  /// The type of that name in the module.
  public typealias FunctionReducer<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::FunctionReducer<Model, Action>
  /// The type of that name in the module.
  public typealias ReduxStore<State: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::ReduxStore<State, Action>
}
