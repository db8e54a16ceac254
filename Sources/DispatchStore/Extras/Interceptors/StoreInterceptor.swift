/// Calls a closure with each action that stores of one type have handled.
///
///     let audit = StoreInterceptor<Account, Transfer> { interception in
///       print(interception.oldModel.balance, interception.newModel.balance)
///     }
///     dispatcher.register(interceptor: audit)
///
/// For one store only, pass the store as `for:` when you register the interceptor.
public final class StoreInterceptor<Model: Sendable, Action: ActionType>: Interceptor {
  private let body: @Sendable (Interception<Model, Action>) -> Void

  /// Makes an interceptor.
  ///
  /// - Parameter body: Called like `Interceptor.didHandle(_:)`, perhaps on several threads at once.
  public init(_ body: @escaping @Sendable (Interception<Model, Action>) -> Void) {
    self.body = body
  }

  /// Whether the store has the types of this interceptor.
  public func intercepts(_ store: AnyStore) -> Bool { store is Store<Model, Action> }

  /// Calls the closure, if the types match.
  public func didHandle<OtherModel: Sendable, OtherAction: ActionType>(
    _ interception: Interception<OtherModel, OtherAction>
  ) {
    if let interception = interception as? Interception<Model, Action> { body(interception) }
  }
}
