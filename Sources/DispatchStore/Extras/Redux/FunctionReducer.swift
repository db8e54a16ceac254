/// A reducer made of a function.
///
///     let store = Store(
///       model: 0, reducer: FunctionReducer { (count: inout Int, amount: Add) in count += amount.value })
///
/// The function runs in the store's exclusive section, like `reduce(into:action:)`. Each call is one commit, and sees
/// only its own model. Several stores may call the function on several threads at once.
public final class FunctionReducer<Model: Sendable, Action: ActionType>: Reducer<Model, Action> {
  @usableFromInline let function: @Sendable (inout Model, Action) throws -> Void

  /// Makes a reducer of a function that changes the model in place.
  public init(_ function: @escaping @Sendable (_ model: inout Model, Action) throws -> Void) {
    self.function = function
  }

  /// Makes a reducer of a function that returns the next model, as in Redux.
  ///
  /// Each action triggers copy-on-write of the parts it changes, because the function has both the old and the new
  /// model. A function that changes the model in place copies nothing.
  public init(returning function: @escaping @Sendable (_ model: Model, Action) throws -> Model) {
    self.function = { model, action in model = try function(model, action) }
  }

  /// Calls the function.
  public override func reduce(into model: inout Model, action: Action) throws {
    try function(&model, action)
  }
}
