/// Calls a closure with each action that stores of one type have handled.
///
///     let audit = StoreInterceptor<Account, Transfer> { interception in
///       print(interception.oldModel.balance, interception.newModel.balance)
///     }
///     dispatcher.register(interceptor: audit)
///
/// For one store, pass that as `for:` where it is registered.
public final class StoreInterceptor<Model: Sendable, Action: ActionType>: Interceptor {
  private let body: @Sendable (Interception<Model, Action>) -> Void

  /// Makes one.
  ///
  /// - Parameter body: Called as `Interceptor.didHandle(_:)` is, perhaps on several threads at once.
  public init(_ body: @escaping @Sendable (Interception<Model, Action>) -> Void) {
    self.body = body
  }

  /// Whether the store is of this type.
  public func intercepts(_ store: AnyStore) -> Bool { store is Store<Model, Action> }

  /// Calls the closure.
  public func didHandle<OtherModel: Sendable, OtherAction: ActionType>(
    _ interception: Interception<OtherModel, OtherAction>
  ) {
    if let interception = interception as? Interception<Model, Action> { body(interception) }
  }
}
