// Observers of one element of a collection in the model.
extension Store {
  /// Notifies an observer of each commit that has changed one element of a collection, once and in commit order,
  /// until its token ends.
  ///
  /// It is called as other inline observers are, but only where its element was inserted, removed or changed:
  /// where that is `Equatable`, not if it is equal to what it was. Observers of one element are called in
  /// order of registration, and those of several elements in the order in which the first one of each was registered.
  ///
  /// In a `TrackedDictionary`, a commit costs what it has changed, however many elements there are and however many
  /// of them are observed. In a dictionary, each commit compares the observed elements; in an array of
  /// elements with identity it goes through all. The element's key is hashed, and elements are compared, in the
  /// exclusive section.
  ///
  /// - Parameters:
  ///   - elements: The collection: the key path identifies it among those that are observed.
  ///   - id: The element's key; there need not be one now.
  ///   - initial: Whether it is notified of the present element first, which may be absent.
  ///   - body: Called with each change, never while the store's lock is held.
  @inlinable
  public func observe<Elements: KeyedCollection & Sendable>(
    _ elements: any KeyPath<Model, Elements> & Sendable, id: Elements.ElementKey,
    initial: Bool = false,
    _ body: @escaping @Sendable (ElementChange<Elements.ElementValue, Action>) -> Void
  ) -> ObserverToken
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    observe(elements, id, initial, TypedElementObserver { body(Self.unpack($0)) })
  }

  /// The same on a queue.
  ///
  /// Each change is kept until the queue comes to it, with the element alone. Nothing is kept of, and no queue is
  /// woken by, a commit that has changed other elements only.
  ///
  /// - Parameters:
  ///   - elements: The collection: the key path identifies it among those that are observed.
  ///   - id: The element's key; there need not be one now.
  ///   - delivery: The queue.
  ///   - initial: Whether it is notified of the present element first, which may be absent.
  ///   - body: Called on the queue with each change, one call after the other; no commit waits for it.
  @inlinable
  public func observe<Elements: KeyedCollection & Sendable>(
    _ elements: any KeyPath<Model, Elements> & Sendable, id: Elements.ElementKey,
    on delivery: ObserverDelivery, initial: Bool = false,
    _ body: @escaping @Sendable (ElementChange<Elements.ElementValue, Action>) -> Void
  ) -> ObserverToken
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    observe(elements, id, initial, TypedElementObserver(on: delivery) { body(Self.unpack($0)) })
  }

  /// The same on the main queue, isolated to the main actor.
  ///
  /// - Parameters:
  ///   - elements: The collection: the key path identifies it among those that are observed.
  ///   - id: The element's key; there need not be one now.
  ///   - delivery: `.main`.
  ///   - initial: Whether it is notified of the present element first, which may be absent.
  ///   - body: Called on the main queue with each change; no commit waits for it.
  @inlinable
  public func observe<Elements: KeyedCollection & Sendable>(
    _ elements: any KeyPath<Model, Elements> & Sendable, id: Elements.ElementKey,
    on delivery: MainDelivery, initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (ElementChange<Elements.ElementValue, Action>) -> Void
  ) -> ObserverToken
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    observe(elements, id, initial, TypedElementObserver(onMain: { body(Self.unpack($0)) }))
  }

  /// Inlinable, as what it gives the hub is called for each commit.
  @inlinable
  func observe<Elements: KeyedCollection & Sendable>(
    _ elements: any KeyPath<Model, Elements> & Sendable, _ id: Elements.ElementKey,
    _ initial: Bool, _ observer: TypedElementObserver<Elements.ElementValue>
  ) -> ObserverToken
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    observe(elements, id, initial: initial, observer) { Self.makeHub($0, isInTurn: $1) }
  }

  @inlinable
  static func makeHub<Elements: KeyedCollection & Sendable>(
    _ table: ElementTable<Model, Action, Elements>, isInTurn: Bool
  ) -> ElementHub
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    ElementHub(table, isInTurn: isInTurn) { commit, hub, kept in
      table.keep(commit, for: hub, &kept)
    }
  }

  @inlinable
  static func unpack<Element: Sendable>(
    _ change: StreamedElement
  ) -> ElementChange<Element, Action> {
    unsafeDowncast(change, to: TypedElementChange<Element, Action>.self).change
  }
}
