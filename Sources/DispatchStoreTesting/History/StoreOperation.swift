/// An operation in a history of stores.
public enum StoreOperation<Action: Sendable>: Sendable {
  /// An action dispatched to the store with this identifier.
  case dispatch(Action, to: String)
  /// A read of the model of the store with this identifier.
  case read(String)

  /// The identifier of the store concerned, by which to split a history of stores.
  public var storeIdentifier: String {
    switch self {
    case .dispatch(_, let identifier), .read(let identifier): identifier
    }
  }
}

extension StoreOperation: Equatable where Action: Equatable {}
extension StoreOperation: Hashable where Action: Hashable {}

extension StoreOperation: CustomStringConvertible {
  /// The action or "read", and the store.
  public var description: String {
    switch self {
    case .dispatch(let action, let identifier): "\(identifier) \(action)"
    case .read(let identifier): "\(identifier) read"
    }
  }
}
