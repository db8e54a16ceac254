extension Store {
  /// Streams the changes of a collection of the model, in commit order, to maintain a copy of it elsewhere.
  ///
  ///     for await delta in store.deltas(of: \.orders, initial: true) { try await table.write(delta) }
  ///
  /// Apply the deltas in order to a copy from when the iterator was made, and you get the content at the last delta's
  /// version. With `initial`, you can start from any copy. A commit that changes nothing in the collection yields no
  /// delta. By default a lagging consumer gets one delta, with the net effect of all commits since the last one that
  /// it took.
  ///
  /// Each iterator costs its store as much as an `observeDeltas(of:initial:_:)`. Deltas are read and merged in the
  /// commit's exclusive section, on its thread: keys are hashed and elements compared there. When the iteration ends,
  /// the cost ends.
  ///
  /// - Parameters:
  ///   - elements: The collection: a `TrackedDictionary`, a dictionary, or an array of elements with identity.
  ///   - policy: The buffering for a lagging consumer.
  ///   - initial: Whether the stream begins with the current content: a reset, in which all elements are insertions.
  ///     It is
  ///     delivered even if it is empty.
  @inlinable
  public func deltas<Elements: KeyedCollection & Sendable>(
    of elements: any KeyPath<Model, Elements> & Sendable,
    buffering policy: DeltaBufferingPolicy = .merging, initial: Bool = false
  ) -> StoreStream<KeyedDelta<Elements.ElementKey, Elements.ElementValue>>
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    policy.check()
    return StoreStream { [weak self] in
      StoreStream<KeyedDelta<Elements.ElementKey, Elements.ElementValue>>.Iterator(
        StreamSubscription(toDeltasOf: self, DeltaWork(elements), policy, initial: initial)
      ) { TypedDelta.delta(of: $0) }
    }
  }
}
