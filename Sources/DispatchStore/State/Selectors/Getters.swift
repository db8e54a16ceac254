/// A model that collects its derived values in one type, as selectors.
///
///     extension Cart: GettersProviding {
///       enum Getters {
///         static let items = StateSelector(\Cart.items)
///         static let count = StateSelector.combine(items) { $0.count }
///       }
///     }
///     store.getters.count
public protocol GettersProviding: Sendable {
  /// A type whose static properties are selectors of this model.
  associatedtype Getters
}

extension Store where Model: GettersProviding {
  /// The values of the model's getters: `store.getters.total` is `store.select(Model.Getters.total)`.
  public var getters: GetterValues<Model, Action> { GetterValues(_store: self) }
}

/// The values of a model's getters in a store, by name.
///
/// Each access calls `select`: on any thread, and cached by the store as long as the inputs stay the same.
@dynamicMemberLookup
public struct GetterValues<Model: GettersProviding, Action: ActionType>: Sendable {
  fileprivate let _store: Store<Model, Action>

  /// The value of a getter for the current model.
  public subscript<Value, Getter: StateSelector<Model, Value>>(
    dynamicMember getter: KeyPath<Model.Getters.Type, Getter>
  ) -> Value {
    _store.select(Model.Getters.self[keyPath: getter])
  }
}
