public import DispatchStore

/// The responses of one store to actions and reads that come one after the other, by a pure function.
public struct StoreSpecification<Model: Hashable & Sendable, Action: ActionType>:
  SequentialSpecification
{
  /// The model before the first operation.
  public let initialState: Model
  private let reduce: @Sendable (inout Model, Action) throws -> Void

  /// Makes a specification.
  ///
  /// - Parameters:
  ///   - model: The store's first model.
  ///   - reduce: Applies an action to the model. It must depend only on its arguments. The check compares an error
  ///     with the recorded one by its text, and keeps changes made before the error, as a store does.
  public init(model: Model, reduce: @escaping @Sendable (inout Model, Action) throws -> Void) {
    initialState = model
    self.reduce = reduce
  }

  /// Makes a specification of a reducer that overrides only `reduce(into:action:)`.
  ///
  /// The check then shows whether the store did what the reducer says, not whether the reducer is right.
  ///
  /// - Parameters:
  ///   - model: The store's first model.
  ///   - reducer: Applies an action. Nothing else may use it afterwards.
  public init(model: Model, reducer: sending Reducer<Model, Action>) {
    // Safe, because a store's reducer has no mutable state and may be called on several threads at once.
    nonisolated(unsafe) let reducer = reducer
    self.init(model: model) { model, action in try reducer.reduce(into: &model, action: action) }
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

  /// Returns true for reads.
  public func isReadOnly(_ operation: StoreOperation<Action>) -> Bool {
    if case .read = operation { true } else { false }
  }
}
