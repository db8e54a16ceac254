/// A store over a part of another store's model that may be gone: an element, what an optional or a case holds.
///
/// As `ChildStore`, but for what each of its members says of a part that is gone. No copy of the part is kept: one
/// that is added again under the same identity is there again.
public struct OptionalChildStore<Model: Sendable, Action: ActionType>: ParentStore {
  @usableFromInline let part: StorePart<Model, Action>

  @inlinable
  init(_ part: StorePart<Model, Action>) {
    self.part = part
  }

  /// Itself.
  @inlinable
  public var asOptionalChild: OptionalChildStore<Model, Action> { self }

  /// A copy of the part as it is; nil where it is gone.
  @inlinable
  public var model: Model? { part.snapshot() }

  /// Reads the part in the store's exclusive section.
  ///
  /// - Returns: The closure's result; nil, and the closure is not called, where the part is gone.
  @inlinable
  public func withModel<Value, Failure: Error>(
    _ body: (Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    try part.withModel(body)
  }

  /// Changes the part in place: one commit of the store, whose observers are notified as of any other.
  ///
  /// As `Store.updateModel`, also where the closure throws. Where the part is gone, the closure is not called,
  /// there is no commit, and this throws a `DispatchError` with the code `partMissing`.
  @inlinable
  @discardableResult
  public func updateModel<Value>(_ body: (inout Model) throws -> Value) throws -> Value {
    let result: Value? = try part.updateModel(body)
    guard let result else {
      throw part.missing
    }
    return result
  }

  /// A child for a part of the part, which is gone where that is.
  ///
  /// - Parameters:
  ///   - path: The part: properties. A subscript by index stops the program where the index is gone.
  ///   - action: Makes the action of this child of one for the part; called where that is dispatched.
  @inlinable
  public func child<Value: Sendable, Local: ActionType>(
    _ path: any WritableKeyPath<Model, Value> & Sendable,
    action: @escaping @Sendable (Local) -> Action
  ) -> OptionalChildStore<Value, Local> {
    OptionalChildStore<Value, Local>(
      part.appending(.property(path), part.actions.embedding(action)))
  }

  /// A child for a part of the part, with the actions of this one.
  @inlinable
  public func child<Value: Sendable>(
    _ path: any WritableKeyPath<Model, Value> & Sendable
  ) -> OptionalChildStore<Value, Action> {
    OptionalChildStore<Value, Action>(part.appending(.property(path), part.actions))
  }
}
