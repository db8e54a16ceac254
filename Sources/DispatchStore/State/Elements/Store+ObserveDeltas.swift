// Observers of the changes to a collection of the model.
extension Store {
  /// Notifies an observer of each commit's changes to a collection, in commit order, until its token ends.
  ///
  /// The observer is called inline with the delta of one commit, and not for commits that leave the collection
  /// unchanged. Apply the deltas in order to a copy from the time of registration to get the current content.
  ///
  /// For a `TrackedDictionary`, a commit costs time linear in its changes. If another value was assigned, the delta
  /// is a reset. A reset shares the new content's storage, so the next commit copies that storage while you keep the
  /// delta. For other collections each commit compares all elements, and retains them: a commit that changes a
  /// dictionary copies it. Keys are hashed and elements compared in the exclusive section. If `shouldNotifyObservers`
  /// suppresses a commit, the next delta includes its changes.
  ///
  /// - Parameters:
  ///   - elements: The collection.
  ///   - initial: Whether the first delta is a reset to the current content, even if that is empty.
  ///   - body: Called with each delta, never while the store's lock is held.
  @inlinable
  public func observeDeltas<Elements: KeyedCollection & Sendable>(
    of elements: any KeyPath<Model, Elements> & Sendable, initial: Bool = false,
    _ body:
      @escaping @Sendable (KeyedDelta<Elements.ElementKey, Elements.ElementValue>) -> Void
  ) -> ObserverToken
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    add(
      InlineDeltaObserver(DeltaWork(elements)) { body(TypedDelta.delta(of: $0)) }, initial: initial)
  }

  /// Notifies an observer on a queue of the changes to a collection, in batches.
  ///
  /// If the queue is behind, it gets one delta with the net effect of all commits since its last call. Memory is
  /// bounded by the number of changed elements, and no commit waits. Only changes that a later commit has undone are
  /// lost.
  ///
  /// - Parameters:
  ///   - elements: The collection.
  ///   - delivery: The queue.
  ///   - initial: Whether the first delta is a reset to the current content, even if that is empty.
  ///   - body: Called on the queue with each delta, one call after the other.
  @inlinable
  public func observeDeltas<Elements: KeyedCollection & Sendable>(
    of elements: any KeyPath<Model, Elements> & Sendable, on delivery: ObserverDelivery,
    initial: Bool = false,
    _ body:
      @escaping @Sendable (KeyedDelta<Elements.ElementKey, Elements.ElementValue>) -> Void
  ) -> ObserverToken
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    add(
      QueuedDeltaObserver(DeltaWork(elements), on: delivery) { body(TypedDelta.delta(of: $0)) },
      initial: initial)
  }

  /// Notifies a main-actor observer, on the main queue, of the changes to a collection, in batches.
  ///
  /// - Parameters:
  ///   - elements: The collection.
  ///   - delivery: `.main`.
  ///   - initial: Whether the first delta is a reset to the current content, even if that is empty.
  ///   - body: Called on the main queue with each delta.
  @inlinable
  public func observeDeltas<Elements: KeyedCollection & Sendable>(
    of elements: any KeyPath<Model, Elements> & Sendable, on delivery: MainDelivery,
    initial: Bool = false,
    _ body:
      @escaping @MainActor @Sendable (KeyedDelta<Elements.ElementKey, Elements.ElementValue>) ->
      Void
  ) -> ObserverToken
  where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    add(
      QueuedDeltaObserver(DeltaWork(elements), onMain: { body(TypedDelta.delta(of: $0)) }),
      initial: initial)
  }
}
