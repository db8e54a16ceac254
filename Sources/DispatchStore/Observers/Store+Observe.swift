extension Store {
  /// Notifies an observer of each commit, once and in commit order, until its token ends.
  ///
  /// An observer may dispatch in every mode, change stores, and cancel itself or others. One that is
  /// added while observers are notified of a commit is notified from the next commit on. While an inline
  /// observer runs, other threads that change this store wait for the delivery turn.
  ///
  /// - Parameters:
  ///   - delivery: Where the observer is notified.
  ///   - initial: Whether it is notified of the present model first.
  ///   - body: Called with each change, never while the store's lock is held.
  @inlinable
  public func observe(
    on delivery: ObserverDelivery = .inline, initial: Bool = false,
    _ body: @escaping @Sendable (StoreChange<Model, Action>) -> Void
  ) -> ObserverToken {
    observe(ObserverRecord(on: delivery) { body(Self.typed($0)) }, initial: initial)
  }

  /// Notifies an observer of each commit on the main queue, isolated to the main actor.
  ///
  /// - Parameters:
  ///   - delivery: `.main`.
  ///   - initial: Whether it is notified of the present model first.
  ///   - body: Called with each change, in commit order; no commit waits for it.
  @inlinable
  public func observe(
    on delivery: MainDelivery, initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (StoreChange<Model, Action>) -> Void
  ) -> ObserverToken {
    observe(ObserverRecord(on: delivery) { body(Self.typed($0)) }, initial: initial)
  }

  @inlinable
  static func typed(_ change: ObservedChange) -> StoreChange<Model, Action> {
    (change as! TypedChange<Model, Action>).change
  }

  @usableFromInline
  func observe(_ observer: ObserverRecord, initial: Bool) -> ObserverToken {
    let thread = ThreadState.current
    ExclusiveSection.check(storage, "observed", on: thread)
    yieldPoint(.observe, on: thread, identifier)
    let turn = storage.withLock { notifications in
      let present = TypedChange<Model, Action>(
        StoreChange(
          model: storage.model.pointee, version: storage.version, action: nil, transaction: nil))
      return notifications.add(
        observer, present: present, initial: initial, mayWait: thread.turns.isEmpty)
    }
    storage.carryOut(turn, on: thread)
    return ObserverToken { [weak storage] in
      observer.cancel()
      // Inside an exclusive section no second lock is locked: the next delivery releases the observer.
      if ThreadState.current.exclusive != nil { return }
      storage?.remove(observer)
    }
  }
}
