/// A store's response in a history of stores.
public enum StoreResponse<Model: Equatable & Sendable>: Equatable, Sendable {
  /// The store's operation finished.
  case finished
  /// The reducer threw an error with this text.
  case failed(String)
  /// The model that was read.
  case model(Model)
}

extension StoreResponse: Hashable where Model: Hashable {}

extension StoreResponse: CustomStringConvertible {
  /// The outcome, or the model.
  public var description: String {
    switch self {
    case .finished: "finished"
    case .failed(let error): "failed (\(error))"
    case .model(let model): "\(model)"
    }
  }
}
