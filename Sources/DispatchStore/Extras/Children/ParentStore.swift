/// A store, or a child of one, from which you can make children.
///
/// A child has no model of its own. All its reads and changes concern a part of its store's model: under the store's
/// lock, and as the store's commits. Making a child registers nothing and takes no lock. A child keeps its store alive;
/// the store has no reference to the child. Only `Store`, `ChildStore` and `OptionalChildStore` may conform.
public protocol ParentStore<Model, Action>: Sendable {
  /// The model, or the part of a model.
  associatedtype Model: Sendable
  /// The actions that you dispatch.
  associatedtype Action: ActionType

  /// The store as a child whose part may be missing.
  var asOptionalChild: OptionalChildStore<Model, Action> { get }
}

extension Store: ParentStore {
  /// The whole store as an optional child, whose part is never missing.
  @inlinable
  public var asOptionalChild: OptionalChildStore<Model, Action> {
    OptionalChildStore(.whole(of: self))
  }
}

// Parts that may be missing.
extension ParentStore {
  /// Makes a child for an element of a collection, by its identity.
  ///
  /// The child follows the element when it moves. Finding it takes time linear in how far it has moved since the last
  /// time, or linear in the collection if it is missing. Identities are unique in the collection.
  ///
  /// - Parameters:
  ///   - path: The collection, such as an array.
  ///   - id: The element's identity; the element may be missing.
  @inlinable
  public func child<Elements: MutableCollection & RandomAccessCollection & Sendable>(
    _ path: any WritableKeyPath<Model, Elements> & Sendable, id: Elements.Element.ID
  ) -> OptionalChildStore<Elements.Element, Action>
  where
    Elements.Element: Identifiable & Sendable, Elements.Element.ID: Sendable, Elements.Index == Int
  {
    optionalChild(.element(of: path, id: id))
  }

  /// Makes a child for the value of a dictionary's key; the key may be missing.
  @inlinable
  public func child<Key: Hashable & Sendable, Value: Sendable>(
    _ path: any WritableKeyPath<Model, [Key: Value]> & Sendable, key: Key
  ) -> OptionalChildStore<Value, Action> {
    optionalChild(.value(of: path, key: key))
  }

  /// Makes a child for the value of an optional, or for an element of any collection with a subscript by key.
  ///
  ///     store.child(unwrapping: \.session)
  ///     store.child(unwrapping: \.orders[id: 7])
  @inlinable
  public func child<Value: Sendable>(
    unwrapping path: any WritableKeyPath<Model, Value?> & Sendable
  ) -> OptionalChildStore<Value, Action> {
    optionalChild(.unwrapping(path))
  }

  @inlinable
  func optionalChild<Value>(_ path: PartPath<Value>) -> OptionalChildStore<Value, Action> {
    OptionalChildStore(asOptionalChild.part.appending(path))
  }
}
