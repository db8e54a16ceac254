// Whole models: inline, or on a queue.
extension Store {
  /// Notifies an observer of each commit, once and in commit order, with the model after it, until its token
  /// ends.
  ///
  /// It is called on the thread that committed, before `updateModel` returns; or, where that thread must
  /// not wait, by the store's notifier. An observer may dispatch in every mode, change stores, and cancel
  /// itself or others. One that is added while observers are notified of a commit is notified from the
  /// next commit on. While it runs, callers from outside and of `.sync` that change this store wait for their
  /// turn, and actions in lanes and on the concurrent queue leave their changes to this thread. Each change
  /// that waits or was left keeps its model, so the next commit copies a large one: for a part of it, pass
  /// a projection.
  ///
  /// - Parameters:
  ///   - initial: Whether it is notified of the present model first.
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

  /// Notifies an observer on a queue of the model as it is when the queue comes to it, until its token ends.
  ///
  /// Whole models coalesce: one delivery is pending at most, however many commits a slow queue is behind. The
  /// observer gets the version and the action of each of them, and reads the model as it is then. A commit
  /// costs an entry in that list, and no copy of the model; a call costs one copy at most, by the next
  /// commit, where the observer holds `model`, and none where it uses `withModel`.
  ///
  /// - Parameters:
  ///   - delivery: The queue.
  ///   - initial: Whether it is notified of the present model first.
  ///   - body: Called on the queue, one call after the other; no commit waits for it.
  public func observe(
    on delivery: ObserverDelivery, initial: Bool = false,
    _ body: @escaping @Sendable (CoalescedChange<Model, Action>) -> Void
  ) -> ObserverToken {
    observe(CoalescingObserver(of: storage, on: ObserverQueue(delivery), body), initial: initial)
  }

  /// The same on the main queue, isolated to the main actor.
  ///
  /// - Parameters:
  ///   - delivery: `.main`.
  ///   - initial: Whether it is notified of the present model first.
  ///   - body: Called on the main queue; no commit waits for it.
  public func observe(
    on delivery: MainDelivery, initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (CoalescedChange<Model, Action>) -> Void
  ) -> ObserverToken {
    observe(
      CoalescingObserver(of: storage, on: .main, ObserverQueue.onMain(body)), initial: initial)
  }
}

// Projections.
extension Store {
  /// Notifies an observer of each commit, once and in commit order, with a part of the model, until its
  /// token ends.
  ///
  /// As `observe(initial:_:)`, but a change keeps the projection alone, so that no commit copies the model.
  ///
  /// - Parameters:
  ///   - projection: Called in the exclusive section of each commit, on its thread: it reads its argument
  ///     alone, and is quick.
  ///   - initial: Whether it is notified of the present model's projection first.
  ///   - body: Called with each change, never while the store's lock is held.
  public func observe<Value: Sendable>(
    _ projection: @escaping @Sendable (Model) -> Value, initial: Bool = false,
    _ body: @escaping @Sendable (StoreChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(
      ProjectionObserver(projection, on: nil, of: Self.self, body), initial: initial)
  }

  /// Notifies an observer on a queue of each commit, once and in commit order, with a part of the model, until
  /// its token ends.
  ///
  /// The projection is computed at the commit and kept until the queue comes to it: a queue that is slow
  /// gets each one, late, and none is lost. No commit copies the model for it.
  ///
  /// - Parameters:
  ///   - projection: Called in the exclusive section of each commit, on its thread: it reads its argument
  ///     alone, and is quick.
  ///   - delivery: The queue.
  ///   - initial: Whether it is notified of the present model's projection first.
  ///   - body: Called on the queue with each change, one call after the other; no commit waits for it.
  public func observe<Value: Sendable>(
    _ projection: @escaping @Sendable (Model) -> Value, on delivery: ObserverDelivery,
    initial: Bool = false, _ body: @escaping @Sendable (StoreChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(
      ProjectionObserver(projection, on: ObserverQueue(delivery), of: Self.self, body),
      initial: initial)
  }

  /// The same on the main queue, isolated to the main actor.
  ///
  /// - Parameters:
  ///   - projection: Called in the exclusive section of each commit, on its thread: it reads its argument
  ///     alone, and is quick.
  ///   - delivery: `.main`.
  ///   - initial: Whether it is notified of the present model's projection first.
  ///   - body: Called on the main queue with each change; no commit waits for it.
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

  /// The present model as a change, in its exclusive section.
  private func presentModel(for observer: ObserverRecord) -> KeptChange {
    guard observer.needsModel else { return KeptChange(version: storage.version) }
    return TypedChange<Model, Action>(
      StoreChange(
        model: storage.model.pointee, version: storage.version, action: nil, transaction: nil))
  }

  /// Lets an observer keep what it gets of the present model.
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
