extension Dispatcher {
  /// The type of that name in the module.
  public typealias ActionMiddleware<Action: DispatchStore::ActionType> =
    DispatchStore::ActionMiddleware<Action>
  /// The type of that name in the module.
  public typealias ActionVerdict<Action: DispatchStore::ActionType> =
    DispatchStore::ActionVerdict<Action>
  /// The type of that name in the module.
  public typealias Interception<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::Interception<Model, Action>
  /// The type of that name in the module.
  public typealias Interceptor = DispatchStore::Interceptor
  /// The type of that name in the module.
  public typealias PrintInterceptor = DispatchStore::PrintInterceptor
  /// The type of that name in the module.
  public typealias StoreInterceptor<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::StoreInterceptor<Model, Action>
  /// The type of that name in the module.
  public typealias StoreMiddleware<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::StoreMiddleware<Model, Action>
}
