/// How one store answers actions and reads that come one after the other: by a pure function.
public struct StoreSpecification<Model: Hashable & Sendable, Action: Sendable>:
  SequentialSpecification
{
  /// The model before the first operation.
  public let initialState: Model
  private let reduce: @Sendable (inout Model, Action) throws -> Void

  /// Makes a specification.
  ///
  /// - Parameters:
  ///   - model: The store's first model.
  ///   - reduce: What an action does to the model; depends on nothing else. An error is compared with
  ///     the recorded one by its text, and what was changed before it stays, as in a store.
  public init(model: Model, reduce: @escaping @Sendable (inout Model, Action) throws -> Void) {
    initialState = model
    self.reduce = reduce
  }

  /// Applies an action or a read to the model.
  public func apply(
    _ operation: StoreOperation<Action>, to model: inout Model
  ) -> StoreResponse<Model> {
    switch operation {
    case .read: return .model(model)
    case .dispatch(let action, _):
      do {
        try reduce(&model, action)
        return .finished
      } catch {
        return .failed("\(error)")
      }
    }
  }

  /// True for reads.
  public func isReadOnly(_ operation: StoreOperation<Action>) -> Bool {
    if case .read = operation { true } else { false }
  }
}
