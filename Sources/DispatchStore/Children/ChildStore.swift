/// A store over a part of another store's model, by key path.
///
/// Changes go both ways, because there is one model: what the store, or another of its children, commits is what
/// this one reads next, and what this one commits is a commit of the store, of which all observers are notified. All
/// are numbered by the store's `version`, and made under its lock.
///
/// It may be used from any thread. What is said of a store's exclusive section holds for its children: in
/// the closures of `withModel` and `updateModel` no store or child is read or changed. `withObservationTracking`
/// tracks its reads as reads of the store: each change of that notifies, whichever part it concerns.
public struct ChildStore<Model: Sendable, Action: ActionType>: ParentStore {
  @usableFromInline let part: StorePart<Model, Action>

  @inlinable
  init(_ part: StorePart<Model, Action>) {
    self.part = part
  }

  /// The whole of a store, for code that takes a child.
  @inlinable
  public init(_ store: Store<Model, Action>) {
    self.init(.whole(of: store))
  }

  /// The same, for code that takes a child that may be gone.
  @inlinable
  public var asOptionalChild: OptionalChildStore<Model, Action> { OptionalChildStore(part) }

  /// A copy of the part as it is.
  @inlinable
  public var model: Model { part.snapshot()! }

  /// Reads the part in the store's exclusive section.
  @inlinable
  public func withModel<Value, Failure: Error>(
    _ body: (Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try part.withModel(body)!
  }

  /// Changes the part in place: one commit of the store, whose observers are notified as of any other.
  ///
  /// As `Store.updateModel`, also where the closure throws.
  @inlinable
  @discardableResult
  public func updateModel<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try part.updateModel(body)!
  }

  /// A child for a part of the part.
  ///
  /// - Parameters:
  ///   - path: The part: properties. A subscript by index stops the program where the index is gone.
  ///   - action: Makes the action of this child of one for the part; called where that is dispatched.
  @inlinable
  public func child<Value: Sendable, Local: ActionType>(
    _ path: any WritableKeyPath<Model, Value> & Sendable,
    action: @escaping @Sendable (Local) -> Action
  ) -> ChildStore<Value, Local> {
    ChildStore<Value, Local>(part.appending(.property(path), part.actions.embedding(action)))
  }

  /// A child for a part of the part, with the actions of this one.
  @inlinable
  public func child<Value: Sendable>(
    _ path: any WritableKeyPath<Model, Value> & Sendable
  ) -> ChildStore<Value, Action> {
    ChildStore<Value, Action>(part.appending(.property(path), part.actions))
  }
}

extension Store {
  /// A child for a part of the model.
  ///
  /// - Parameters:
  ///   - path: The part: properties. A subscript by index stops the program where the index is gone.
  ///   - action: Makes the store's action of one for the part; called where that is dispatched.
  @inlinable
  public func child<Value: Sendable, Local: ActionType>(
    _ path: any WritableKeyPath<Model, Value> & Sendable,
    action: @escaping @Sendable (Local) -> Action
  ) -> ChildStore<Value, Local> {
    ChildStore<Value, Local>(
      StorePart(of: PartRoot(self), .property(path), PartActions(of: self).embedding(action)))
  }

  /// A child for a part of the model, with the store's actions.
  @inlinable
  public func child<Value: Sendable>(
    _ path: any WritableKeyPath<Model, Value> & Sendable
  ) -> ChildStore<Value, Action> {
    ChildStore<Value, Action>(
      StorePart(of: PartRoot(self), .property(path), PartActions(of: self)))
  }
}
