/// Handlers of a part of the model, given by a key path: a module of a store.
///
///     Part(\.cart) {
///       On(AddItem.self) { cart, action in cart.items.append(action.item) }
///       Perform(LoadCart.self) { action, context in
///         let items = try await load(action.id)
///         try context.updateModel { $0.items = items }
///       }
///     }
public struct Part<Model: Sendable>: HandlerComponent {
  /// The handlers of the part, for the whole model.
  public let handlers: Handlers<Model>

  /// Handles actions in a part of the model.
  public init<Value: Sendable>(
    _ path: any WritableKeyPath<Model, Value> & Sendable,
    @ListBuilder<Handlers<Value>> _ content: () -> [Handlers<Value>]
  ) {
    handlers = Handlers(
      content().flatMap(\.all).map {
        $0.lifted(to: .property(path), at: path, mayBeAbsent: false)
      })
  }

  /// Handles actions in a part of the model that may be absent.
  ///
  /// If it is absent when an action's turn comes, its handlers are not called, and the action changes nothing there.
  public init<Value: Sendable>(
    _ path: any WritableKeyPath<Model, Value?> & Sendable,
    @ListBuilder<Handlers<Value>> _ content: () -> [Handlers<Value>]
  ) {
    handlers = Handlers(
      content().flatMap(\.all).map {
        $0.lifted(to: .unwrapping(path), at: path, mayBeAbsent: true)
      })
  }
}
