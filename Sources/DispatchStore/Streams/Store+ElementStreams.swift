// Streams of one element of a collection in the model.
extension Store {
  /// The states of one element of a collection, beginning with the present one; nil where it is absent.
  ///
  /// Of commits that have not changed the element nothing is kept, no consumer is resumed, and they cost what is said
  /// at `observe(_:id:initial:_:)`: in a `TrackedDictionary` nothing, however many elements are streamed. Where they are
  /// `Equatable`, an equal one is not delivered again, also where those between were dropped.
  ///
  /// - Parameters:
  ///   - elements: The collection: the key path identifies it among those that are observed.
  ///   - id: The element's key; there need not be one now.
  ///   - policy: What is kept for a consumer that is behind.
  ///   - initial: Whether the present element comes first, which may be absent; else the first one that differs from
  ///     it.
  @inlinable
  public func values<Elements: KeyedCollection & Sendable>(
    of elements: any KeyPath<Model, Elements> & Sendable, id: Elements.ElementKey,
    buffering policy: StreamBufferingPolicy = .bufferingNewest(1), initial: Bool = true
  ) -> StoreStream<Elements.ElementValue?>
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    let equality = ElementEquality<Elements.ElementValue>()
    return stream(of: elements, id, policy, initial) {
      var last: Elements.ElementValue??
      return { change in
        if let last, !equality.differ(last, change.new) { return nil }
        last = .some(change.new)
        return .some(change.new)
      }
    }
  }

  /// The changes of one element of a collection: element before and after, version, action and transaction.
  ///
  /// One for each commit that has changed the element, as `observe(_:id:initial:_:)` is called; other commits cost it
  /// what they cost there.
  ///
  /// - Parameters:
  ///   - elements: The collection: the key path identifies it among those that are observed.
  ///   - id: The element's key; there need not be one now.
  ///   - policy: What is kept for a consumer that is behind.
  ///   - initial: Whether the present element comes first, which may be absent: without an old one and an action.
  @inlinable
  public func changes<Elements: KeyedCollection & Sendable>(
    of elements: any KeyPath<Model, Elements> & Sendable, id: Elements.ElementKey,
    buffering policy: StreamBufferingPolicy = .unbounded, initial: Bool = false
  ) -> StoreStream<ElementChange<Elements.ElementValue, Action>>
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    stream(of: elements, id, policy, initial) { { $0 } }
  }

  /// - Parameter makeReceive: Makes, for each iterator, what makes its elements of changes; that returns nil for one
  ///   that is not to be delivered.
  @inlinable
  func stream<Elements: KeyedCollection & Sendable, Element: Sendable>(
    of elements: any KeyPath<Model, Elements> & Sendable, _ id: Elements.ElementKey,
    _ policy: StreamBufferingPolicy, _ initial: Bool,
    _ makeReceive:
      @escaping @Sendable () -> (ElementChange<Elements.ElementValue, Action>) -> Element?
  ) -> StoreStream<Element>
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    policy.check()
    return StoreStream { [weak self] in
      let receive = makeReceive()
      return StoreStream<Element>.Iterator(
        StreamSubscription(to: self, element: id, of: elements, policy, initial: initial) {
          Self.makeHub($0, isInTurn: $1)
        }
      ) { receive(Self.unpack($0)) }
    }
  }
}
