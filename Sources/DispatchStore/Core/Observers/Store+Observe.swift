// Observers of whole models: inline, or on a queue.
extension Store {
  /// Notifies an observer of each commit, with the model after it, until its token ends.
  ///
  /// The observer is called once for each commit, in commit order. Calls come on the thread that committed, before
  /// `updateModel` returns. If that thread must not wait, the store's notifier calls instead.
  ///
  /// An observer may dispatch in every mode, change stores, and cancel itself or others. If it is added while
  /// observers are notified of a commit, it is notified from the next commit on.
  ///
  /// While an observer runs, other changes of the store queue up. Callers from outside and of `.sync` wait for their
  /// turn. Actions in lanes and on the concurrent queue leave their changes to this thread. Each queued change keeps
  /// its model, so the next commit copies it. For a part of a large model, pass a projection.
  ///
  /// - Parameters:
  ///   - initial: Whether the observer is notified of the current model first.
  ///   - body: Called with each change, never while the store's lock is held.
  @inlinable
  public func observe(
    initial: Bool = false, _ body: @escaping @Sendable (StoreChange<Model, Action>) -> Void
  ) -> ObserverToken {
    observe(
      ModelObserver { change in
        body(change.change.assumingMemoryBound(to: StoreChange<Model, Action>.self).pointee)
      }, initial: initial)
  }

  /// Notifies an observer on a queue of the model as it is when the queue runs it, until its token ends.
  ///
  /// Whole models coalesce: at most one delivery is pending, however many commits a slow queue is behind. The
  /// observer gets the version and the action of each of them, and reads the model as it is then.
  ///
  /// A commit costs an entry in that list, and no copy of the model. If the observer holds `model`, the next commit
  /// copies it once. With `withModel` nothing is copied.
  ///
  /// - Parameters:
  ///   - delivery: The queue.
  ///   - initial: Whether the observer is notified of the current model first.
  ///   - body: Called on the queue, one call after the other. No commit waits for it.
  public func observe(
    on delivery: ObserverDelivery, initial: Bool = false,
    _ body: @escaping @Sendable (CoalescedChange<Model, Action>) -> Void
  ) -> ObserverToken {
    observe(CoalescingObserver(of: storage, on: ObserverQueue(delivery), body), initial: initial)
  }

  /// Notifies an observer on the main queue of the model as it is when the queue runs it, until its token ends.
  ///
  /// The observer is isolated to the main actor. Commits coalesce, as with `observe(on:initial:_:)` on another queue.
  ///
  /// - Parameters:
  ///   - delivery: `.main`.
  ///   - initial: Whether the observer is notified of the current model first.
  ///   - body: Called on the main queue. No commit waits for it.
  public func observe(
    on delivery: MainDelivery, initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (CoalescedChange<Model, Action>) -> Void
  ) -> ObserverToken {
    observe(
      CoalescingObserver(of: storage, on: .main, ObserverQueue.onMain(body)), initial: initial)
  }
}

// Observers of projections.
extension Store {
  /// Notifies an observer of each commit, with a part of the model, until its token ends.
  ///
  /// Calls have the order and threads of `observe(initial:_:)`. A change keeps only the projection, so no commit
  /// copies the model.
  ///
  /// - Parameters:
  ///   - projection: Called in each commit's exclusive section, on its thread. It must be quick and read only its
  ///     argument.
  ///   - initial: Whether the observer is notified of the current model's projection first.
  ///   - body: Called with each change, never while the store's lock is held.
  public func observe<Value: Sendable>(
    _ projection: @escaping @Sendable (Model) -> Value, initial: Bool = false,
    _ body: @escaping @Sendable (StoreChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(
      ProjectionObserver(projection, on: nil, of: Self.self, body), initial: initial)
  }

  /// Notifies an observer on a queue of each commit, with a part of the model, until its token ends.
  ///
  /// The observer is called once for each commit, in commit order. The projection is computed at the commit and kept
  /// until the queue runs. A slow queue gets every one, late, and loses none. No commit copies the model for it.
  ///
  /// - Parameters:
  ///   - projection: Called in each commit's exclusive section, on its thread. It must be quick and read only its
  ///     argument.
  ///   - delivery: The queue.
  ///   - initial: Whether the observer is notified of the current model's projection first.
  ///   - body: Called on the queue with each change, one call after the other. No commit waits for it.
  public func observe<Value: Sendable>(
    _ projection: @escaping @Sendable (Model) -> Value, on delivery: ObserverDelivery,
    initial: Bool = false, _ body: @escaping @Sendable (StoreChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(
      ProjectionObserver(projection, on: ObserverQueue(delivery), of: Self.self, body),
      initial: initial)
  }

  /// Notifies an observer on the main queue of each commit, with a part of the model, until its token ends.
  ///
  /// The observer is isolated to the main actor, and called once for each commit, in commit order. The projection is
  /// computed at the commit and kept until the queue runs.
  ///
  /// - Parameters:
  ///   - projection: Called in each commit's exclusive section, on its thread. It must be quick and read only its
  ///     argument.
  ///   - delivery: `.main`.
  ///   - initial: Whether the observer is notified of the current model's projection first.
  ///   - body: Called on the main queue with each change. No commit waits for it.
  public func observe<Value: Sendable>(
    _ projection: @escaping @Sendable (Model) -> Value, on delivery: MainDelivery,
    initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (StoreChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(
      ProjectionObserver(projection, on: .main, of: Self.self, ObserverQueue.onMain(body)),
      initial: initial)
  }
}

extension Store {
  @usableFromInline
  func observe(_ observer: ObserverRecord, initial: Bool) -> ObserverToken {
    add(observer, initial: initial)
    return ObserverToken { [weak storage] in observer.end(in: storage) }
  }

  /// Adds an observer, until `end(in:)`.
  func add(_ observer: ObserverRecord, initial: Bool) {
    let thread = ThreadState.current
    ExclusiveSection.check(storage, "observed", on: thread)
    yieldPoint(.observe, on: thread, identifier)
    storage.lockToRead(on: thread)
    observer.begin(with: storage.model, version: storage.version)
    let present = initial ? presentModel(for: observer) : nil
    let kept = initial ? keepPresentModel(observer) : KeptCommit()
    let turn = storage.unlockAdding(observer, present, on: thread)
    storage.carryOut(turn, kept, on: thread)
  }

  /// Returns the current model as a change.
  ///
  /// Called in the exclusive section.
  private func presentModel(for observer: ObserverRecord) -> KeptChange {
    guard observer.needsModel else { return KeptChange(version: storage.version) }
    return TypedChange<Model, Action>(
      StoreChange(
        model: storage.model.pointee, version: storage.version, action: nil, dispatchID: nil))
  }

  /// Lets an observer keep its part of the current model.
  private func keepPresentModel(_ observer: ObserverRecord) -> KeptCommit {
    var kept = KeptCommit()
    withUnsafePointer(to: nil as Action?) {
      observer.keep(
        CommitInProgress(
          model: storage.model, action: $0, version: storage.version, owner: nil,
          isPresentModel: true), &kept)
    }
    return kept
  }
}
