/// A store over a part of another store's model that may be missing: an element, or the value of an optional or a
/// case.
///
/// Behaves like `ChildStore`, except when the part is missing. No copy of the part is kept: if a part is added again
/// under the same identity, this child refers to it.
public struct OptionalChildStore<Model: Sendable, Action: ActionType>: ParentStore {
  @usableFromInline let part: StorePart<Model, Action>

  @inlinable
  init(_ part: StorePart<Model, Action>) {
    self.part = part
  }

  /// The child itself.
  @inlinable
  public var asOptionalChild: OptionalChildStore<Model, Action> { self }

  /// A copy of the current part; nil if it is missing.
  @inlinable
  public var model: Model? { part.snapshot() }

  /// Reads the part in the store's exclusive section.
  ///
  /// - Returns: The closure's result. If the part is missing, the closure is not called, and the result is nil.
  @inlinable
  public func withModel<Value, Failure: Error>(
    _ body: (Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    try part.withModel(body)
  }

  /// Changes the part in place, as one commit of the store.
  ///
  /// Behaves like `Store.updateModel`, also if the closure throws. If the part is missing, the closure is not called,
  /// nothing is committed, and this throws a `DispatchError` with the code `partMissing`.
  @inlinable
  @discardableResult
  public func updateModel<Value>(_ body: (inout Model) throws -> Value) throws -> Value {
    try part.updatePresentModel(body)
  }

  /// Returns this child for code that knows only the actions of the part.
  ///
  /// - Parameter embed: Converts such an action to this child's action. Called at each dispatch.
  @inlinable
  public func mapActions<Local: ActionType>(
    _ embed: @escaping @Sendable (Local) -> Action
  ) -> OptionalChildStore<Model, Local> {
    OptionalChildStore<Model, Local>(part.embedding(embed))
  }

  /// Makes a child for a part of this child's part; both are missing together.
  ///
  /// - Parameter path: The part, by properties. A subscript by index stops the program if the index no longer exists.
  @inlinable
  public func child<Value: Sendable>(
    _ path: any WritableKeyPath<Model, Value> & Sendable
  ) -> OptionalChildStore<Value, Action> {
    OptionalChildStore<Value, Action>(part.appending(.property(path)))
  }
}
