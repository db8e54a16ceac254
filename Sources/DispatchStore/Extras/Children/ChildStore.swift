/// A store over a part of another store's model, by key path.
///
/// There is only one model, so changes go both ways. A child reads the commits of the store and of its other
/// children. Each commit of a child is a commit of the store, under its lock and with its `version`, and notifies all
/// its observers.
///
/// You can use a child from any thread. The rules of the store's exclusive section apply: don't read or change a
/// store or child in the closures of `withModel` and `updateModel`. `withObservationTracking` treats a read of a
/// child as a read of the whole store, so every change of the store notifies.
public struct ChildStore<Model: Sendable, Action: ActionType>: ParentStore {
  @usableFromInline let part: StorePart<Model, Action>

  @inlinable
  init(_ part: StorePart<Model, Action>) {
    self.part = part
  }

  /// The child as one whose part may be missing, for code that takes such a child.
  @inlinable
  public var asOptionalChild: OptionalChildStore<Model, Action> { OptionalChildStore(part) }

  /// A copy of the current part.
  @inlinable
  public var model: Model { part.snapshot()! }

  /// Reads the part in the store's exclusive section.
  @inlinable
  public func withModel<Value, Failure: Error>(
    _ body: (Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try part.withModel(body)!
  }

  /// Changes the part in place, as one commit of the store.
  ///
  /// Behaves like `Store.updateModel`, also if the closure throws.
  @inlinable
  @discardableResult
  public func updateModel<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try part.updateModel(body)!
  }

  /// Returns this child for code that knows only the actions of the part.
  ///
  ///     let cart = shop.child(\.cart).mapActions { (action: CartAction) in .cart(action) }
  ///
  /// - Parameter embed: Converts such an action to this child's action. Called at each dispatch.
  @inlinable
  public func mapActions<Local: ActionType>(
    _ embed: @escaping @Sendable (Local) -> Action
  ) -> ChildStore<Model, Local> {
    ChildStore<Model, Local>(part.embedding(embed))
  }

  /// Makes a child for a part of this child's part.
  ///
  /// - Parameter path: The part, by properties. A subscript by index stops the program if the index no longer exists.
  @inlinable
  public func child<Value: Sendable>(
    _ path: any WritableKeyPath<Model, Value> & Sendable
  ) -> ChildStore<Value, Action> {
    ChildStore<Value, Action>(part.appending(.property(path)))
  }
}

extension Store {
  /// Makes a child for a part of the model.
  ///
  /// - Parameter path: The part, by properties. A subscript by index stops the program if the index no longer exists.
  @inlinable
  public func child<Value: Sendable>(
    _ path: any WritableKeyPath<Model, Value> & Sendable
  ) -> ChildStore<Value, Action> {
    ChildStore<Value, Action>(
      StorePart(of: PartRoot(self), .property(path), PartActions(of: self)))
  }
}
