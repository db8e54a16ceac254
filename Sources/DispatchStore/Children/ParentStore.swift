/// A store, or a child of one: what children are made of.
///
/// A child has no model: it reads and changes a part of its store's, by the store's lock and as the store's commits.
/// Making one registers nothing and takes no lock. It keeps the store alive, and the store has no reference to it.
/// `Store`, `ChildStore` and `OptionalChildStore` conform; no other type may.
public protocol ParentStore<Model, Action>: Sendable {
  /// What it is a store of.
  associatedtype Model: Sendable
  /// What is dispatched to it.
  associatedtype Action: ActionType

  /// The same, as a child that may be gone.
  var asOptionalChild: OptionalChildStore<Model, Action> { get }
}

extension Store: ParentStore {
  /// The whole store, as a child that may be gone; it never is.
  @inlinable
  public var asOptionalChild: OptionalChildStore<Model, Action> {
    OptionalChildStore(.whole(of: self))
  }
}

// Parts that may be gone.
extension ParentStore {
  /// A child for an element of a collection, by its identity.
  ///
  /// It follows the element wherever that moves. Finding it takes time linear in how far it has moved since the last
  /// time; where it is gone, in the collection. Identities are unique in the collection.
  ///
  /// - Parameters:
  ///   - path: The collection, such as an array.
  ///   - id: The element's identity; the element need not be there.
  ///   - action: Makes the parent's action of one for the element; called where that is dispatched.
  @inlinable
  public func child<
    Elements: MutableCollection & RandomAccessCollection & Sendable, Local: ActionType
  >(
    _ path: any WritableKeyPath<Model, Elements> & Sendable, id: Elements.Element.ID,
    action: @escaping @Sendable (Local) -> Action
  ) -> OptionalChildStore<Elements.Element, Local>
  where
    Elements.Element: Identifiable & Sendable, Elements.Element.ID: Sendable, Elements.Index == Int
  {
    optionalChild(.element(of: path, id: id), action)
  }

  /// A child for an element of a collection, by its identity, with the parent's actions.
  @inlinable
  public func child<Elements: MutableCollection & RandomAccessCollection & Sendable>(
    _ path: any WritableKeyPath<Model, Elements> & Sendable, id: Elements.Element.ID
  ) -> OptionalChildStore<Elements.Element, Action>
  where
    Elements.Element: Identifiable & Sendable, Elements.Element.ID: Sendable, Elements.Index == Int
  {
    optionalChild(.element(of: path, id: id))
  }

  /// A child for the value of a dictionary's key.
  ///
  /// - Parameters:
  ///   - path: The dictionary.
  ///   - key: The key; it need not be there.
  ///   - action: Makes the parent's action of one for the value; called where that is dispatched.
  @inlinable
  public func child<Key: Hashable & Sendable, Value: Sendable, Local: ActionType>(
    _ path: any WritableKeyPath<Model, [Key: Value]> & Sendable, key: Key,
    action: @escaping @Sendable (Local) -> Action
  ) -> OptionalChildStore<Value, Local> {
    optionalChild(.value(of: path, key: key), action)
  }

  /// A child for the value of a dictionary's key, with the parent's actions.
  @inlinable
  public func child<Key: Hashable & Sendable, Value: Sendable>(
    _ path: any WritableKeyPath<Model, [Key: Value]> & Sendable, key: Key
  ) -> OptionalChildStore<Value, Action> {
    optionalChild(.value(of: path, key: key))
  }

  /// A child for what an optional holds, or for an element of any collection with a subscript by key.
  ///
  ///     store.child(unwrapping: \.session)
  ///     store.child(unwrapping: \.orders[id: 7])
  ///
  /// - Parameters:
  ///   - path: The optional.
  ///   - action: Makes the parent's action of one for the value; called where that is dispatched.
  @inlinable
  public func child<Value: Sendable, Local: ActionType>(
    unwrapping path: any WritableKeyPath<Model, Value?> & Sendable,
    action: @escaping @Sendable (Local) -> Action
  ) -> OptionalChildStore<Value, Local> {
    optionalChild(.unwrapping(path), action)
  }

  /// A child for what an optional holds, with the parent's actions.
  @inlinable
  public func child<Value: Sendable>(
    unwrapping path: any WritableKeyPath<Model, Value?> & Sendable
  ) -> OptionalChildStore<Value, Action> {
    optionalChild(.unwrapping(path))
  }

  /// A child for what a case of an enumeration holds.
  ///
  /// A change copies what the case stores by copy-on-write, since the model holds it meanwhile.
  ///
  /// - Parameters:
  ///   - extract: What the case holds; nil for other cases. Called in the exclusive section.
  ///   - embed: The case with what it holds. Called in the exclusive section.
  ///   - action: Makes the parent's action of one for the value; called where that is dispatched.
  @inlinable
  public func child<Value: Sendable, Local: ActionType>(
    extract: @escaping @Sendable (Model) -> Value?, embed: @escaping @Sendable (Value) -> Model,
    action: @escaping @Sendable (Local) -> Action
  ) -> OptionalChildStore<Value, Local> {
    optionalChild(.case(extract: extract, embed: embed), action)
  }

  /// A child for what a case of an enumeration holds, with the parent's actions.
  @inlinable
  public func child<Value: Sendable>(
    extract: @escaping @Sendable (Model) -> Value?, embed: @escaping @Sendable (Value) -> Model
  ) -> OptionalChildStore<Value, Action> {
    optionalChild(.case(extract: extract, embed: embed))
  }

  @inlinable
  func optionalChild<Value, Local>(
    _ path: PartPath<Value>, _ action: @escaping @Sendable (Local) -> Action
  ) -> OptionalChildStore<Value, Local> {
    let part = asOptionalChild.part
    return OptionalChildStore(part.appending(path, part.actions.embedding(action)))
  }

  @inlinable
  func optionalChild<Value>(_ path: PartPath<Value>) -> OptionalChildStore<Value, Action> {
    let part = asOptionalChild.part
    return OptionalChildStore(part.appending(path, part.actions))
  }
}
