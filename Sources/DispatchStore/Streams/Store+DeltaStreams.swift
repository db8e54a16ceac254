extension Store {
  /// What commits change in a collection of the model, in commit order: for a copy of it elsewhere.
  ///
  /// The deltas that a consumer gets, applied in order to a copy from when its iterator was made (with `initial`, to
  /// any copy), give the content at the last one's version. A commit that changes nothing there makes none. By default
  /// a consumer that is behind gets one delta, with the net effect of all commits since the last one that it took.
  ///
  /// What a commit costs is said at `observeDeltas(of:initial:_:)`, and holds for each iterator: deltas are read, and
  /// merged, in the exclusive section of the commit, on its thread, where keys are hashed and elements compared. When
  /// the iteration ends, the collection notes no more for it.
  ///
  ///     for await delta in store.deltas(of: \.orders, initial: true) { try await table.write(delta) }
  ///
  /// - Parameters:
  ///   - elements: The collection: a `TrackedDictionary`, a dictionary, an array of elements with identity.
  ///   - policy: What is kept for a consumer that is behind.
  ///   - initial: Whether it begins with the present content, as a reset in which all elements are insertions; that one
  ///     is delivered also where it is empty.
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
