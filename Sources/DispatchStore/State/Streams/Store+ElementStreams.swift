// Streams of one element of a collection in the model.
extension Store {
  /// Streams the states of one element of a collection, beginning with the current one.
  ///
  /// An absent element is nil.
  ///
  /// A commit that doesn't change the element keeps nothing and resumes no consumer. It costs as much as with
  /// `observe(_:id:initial:_:)`: in a `TrackedDictionary` nothing, however many elements are streamed. If elements
  /// are `Equatable`, an equal one is not delivered twice in a row, even if those between were dropped.
  ///
  /// - Parameters:
  ///   - elements: The collection. Its key path identifies it among the observed collections.
  ///   - id: The element's key. The element may be absent.
  ///   - policy: The buffering for a lagging consumer.
  ///   - initial: Whether the current element comes first, even if it is absent. Otherwise the first one that differs
  ///     from it.
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

  /// Streams the changes of one element of a collection: element before and after, version, action and transaction.
  ///
  /// There is one for each commit that has changed the element, as with `observe(_:id:initial:_:)`. Other commits
  /// cost as much as described there.
  ///
  /// - Parameters:
  ///   - elements: The collection. Its key path identifies it among the observed collections.
  ///   - id: The element's key. The element may be absent.
  ///   - policy: The buffering for a lagging consumer.
  ///   - initial: Whether the current element, which may be absent, comes first: without an old element and an
  ///     action.
  @inlinable
  public func changes<Elements: KeyedCollection & Sendable>(
    of elements: any KeyPath<Model, Elements> & Sendable, id: Elements.ElementKey,
    buffering policy: StreamBufferingPolicy = .unbounded, initial: Bool = false
  ) -> StoreStream<ElementChange<Elements.ElementValue, Action>>
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    stream(of: elements, id, policy, initial) { { $0 } }
  }

  /// Streams one element's changes, converted by a closure.
  ///
  /// - Parameter makeReceive: Makes the conversion for each iterator. The conversion returns nil to skip a change.
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
