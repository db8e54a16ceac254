/// A reducer that is a function.
///
///     let store = Store(
///       model: 0, reducer: FunctionReducer { (count: inout Int, amount: Add) in count += amount.value })
///
/// The function runs in the store's exclusive section, as `reduce(into:action:)`: it is one commit, sees its own model
/// only, and may run on several threads for several stores at once.
public final class FunctionReducer<Model: Sendable, Action: ActionType>: Reducer<Model, Action> {
  @usableFromInline let function: @Sendable (inout Model, Action) throws -> Void

  /// Changes the model in place.
  public init(_ function: @escaping @Sendable (_ model: inout Model, Action) throws -> Void) {
    self.function = function
  }

  /// Returns the next model, as in Redux.
  ///
  /// Each action copies what it changes by copy-on-write, since the function has the old model and the new one; one
  /// that changes in place copies nothing.
  public init(returning function: @escaping @Sendable (_ model: Model, Action) throws -> Model) {
    self.function = { model, action in model = try function(model, action) }
  }

  /// Calls the function.
  public override func reduce(into model: inout Model, action: Action) throws {
    try function(&model, action)
  }
}

extension FunctionReducer where Model: AnyObject {
  /// Changes a model that is an object.
  ///
  /// The commit counts, and copies nothing: `Store.model`, and the models before and after a commit, are the same
  /// object. The store guards the reduction alone; what other threads read of the object, the class guards itself,
  /// as any `Sendable` class does.
  public convenience init(
    object function: @escaping @Sendable (_ state: Model, Action) throws -> Void
  ) {
    self.init { (model: inout Model, action) in try function(model, action) }
  }
}
