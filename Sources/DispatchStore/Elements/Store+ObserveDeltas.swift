// Observers of what commits change in a collection of the model.
extension Store {
  /// Notifies an observer of what each commit has changed in a collection, in commit order, until its token ends.
  ///
  /// It is called as other inline observers are, with the delta of one commit, and not for commits that changed nothing
  /// there. The deltas since it was registered, applied in order to a copy from then, give the present content.
  ///
  /// In a `TrackedDictionary`, a commit costs what it has changed. Where another value was assigned, the delta is a
  /// reset: it shares the new content's storage, so the next commit copies that while a delta is kept. In other
  /// collections each commit compares all elements, and what was compared is kept: a commit that changes a
  /// dictionary copies it. Keys are hashed, and elements compared, in the exclusive section. Commits of which
  /// `shouldNotifyObservers` keeps observers from being notified are part of the next delta.
  ///
  /// - Parameters:
  ///   - elements: The collection.
  ///   - initial: Whether it begins with the present content, as a reset; that one is delivered also where it is empty.
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

  /// The same on a queue, in batches: a queue that is behind gets one delta, with the net effect of all commits since
  /// its last call.
  ///
  /// What is kept meanwhile is bounded by the number of elements that were changed, and no commit waits for it.
  /// Nothing is lost, but for what a later commit has undone.
  ///
  /// - Parameters:
  ///   - elements: The collection.
  ///   - delivery: The queue.
  ///   - initial: Whether it begins with the present content, as a reset; that one is delivered also where it is empty.
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

  /// The same on the main queue, isolated to the main actor.
  ///
  /// - Parameters:
  ///   - elements: The collection.
  ///   - delivery: `.main`.
  ///   - initial: Whether it begins with the present content, as a reset; that one is delivered also where it is empty.
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
