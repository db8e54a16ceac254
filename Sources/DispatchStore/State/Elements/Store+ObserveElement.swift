// Observers of one element of a collection in the model.
extension Store {
  /// Notifies an observer of each commit that has changed one element of a collection, once and in commit order,
  /// until its token ends.
  ///
  /// The observer is called inline, and only if its element was inserted, removed or changed. If the element is
  /// `Equatable`, an equal value is no change. Observers of one element are called in order of registration.
  /// Observers of several elements are called in the order in which the first one of each element was registered.
  ///
  /// For a `TrackedDictionary`, a commit costs time linear in its changes, regardless of the number of elements and
  /// observers. For a dictionary, each commit compares the observed elements; for an array of elements with identity,
  /// it goes through all elements. The key is hashed, and elements are compared, in the exclusive section.
  ///
  /// - Parameters:
  ///   - elements: The collection; its key path identifies it among the observed collections.
  ///   - id: The element's key; the element may be absent.
  ///   - initial: Whether the observer is first notified of the current element, which may be absent.
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

  /// Notifies an observer on a queue of each commit that has changed one element of a collection.
  ///
  /// Each change is kept, with the element alone, until the queue delivers it. A commit that has changed only other
  /// elements keeps nothing, and wakes no queue.
  ///
  /// - Parameters:
  ///   - elements: The collection; its key path identifies it among the observed collections.
  ///   - id: The element's key; the element may be absent.
  ///   - delivery: The queue.
  ///   - initial: Whether the observer is first notified of the current element, which may be absent.
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

  /// Notifies a main-actor observer, on the main queue, of each commit that has changed one element of a collection.
  ///
  /// - Parameters:
  ///   - elements: The collection; its key path identifies it among the observed collections.
  ///   - id: The element's key; the element may be absent.
  ///   - delivery: `.main`.
  ///   - initial: Whether the observer is first notified of the current element, which may be absent.
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

  /// Registers the observer; inlinable, because the closure for the hub is called at each commit.
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
