// By selector.
extension Store {
  /// Notifies an observer of each commit that changes a selector's value, in commit order, until its token ends.
  ///
  /// It is called on the thread that committed, or by the store's notifier, as `observe(initial:_:)`, with the value
  /// before and after. A value of an `Equatable` type has changed where it is not equal to the one before; of
  /// another type, where an input has changed. What `shouldNotifyObservers` keeps from observers is part of the next
  /// change. For an observer the store keeps what the selectors read of the model, and never the model.
  ///
  /// - Parameters:
  ///   - selector: Where it reads the model, called in the exclusive section of each commit, on its thread. Values are
  ///     compared, and other selectors computed, before the call, on its thread, with no lock held.
  ///   - initial: Whether it is notified of the present value first.
  ///   - body: Called with each change, never while the store's lock is held.
  public func observe<Value>(
    changesOf selector: Selector<Model, Value>, initial: Bool = false,
    _ body: @escaping @Sendable (PartChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(PartObserver(selector, on: nil, of: Self.self, body), initial: initial)
  }

  /// Notifies an observer on a queue of each commit that changes a selector's value, in commit order, until its
  /// token ends.
  ///
  /// Where the bytes of what the selector reads are the same as before, a commit does nothing for the queue.
  /// Otherwise it keeps what was read until the queue comes to it: a queue that is slow gets each change, late.
  ///
  /// - Parameters:
  ///   - selector: Where it reads the model, called in the exclusive section of each commit, on its thread. Values are
  ///     compared, and other selectors computed, on the queue.
  ///   - delivery: The queue.
  ///   - initial: Whether it is notified of the present value first.
  ///   - body: Called on the queue with each change, one call after the other; no commit waits for it.
  public func observe<Value>(
    changesOf selector: Selector<Model, Value>, on delivery: ObserverDelivery,
    initial: Bool = false, _ body: @escaping @Sendable (PartChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(
      PartObserver(selector, on: ObserverQueue(delivery), of: Self.self, body), initial: initial)
  }

  /// The same on the main queue, isolated to the main actor.
  ///
  /// - Parameters:
  ///   - selector: As for any queue; what is computed, is on the main queue.
  ///   - delivery: `.main`.
  ///   - initial: Whether it is notified of the present value first.
  ///   - body: Called on the main queue with each change; no commit waits for it.
  public func observe<Value>(
    changesOf selector: Selector<Model, Value>, on delivery: MainDelivery, initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (PartChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(
      PartObserver(selector, on: .main, of: Self.self, ObserverQueue.onMain(body)),
      initial: initial)
  }
}

// By key path.
extension Store {
  /// Notifies an observer of each commit that changes a part of the model, in commit order, until its token ends.
  ///
  /// As for a selector that reads this part.
  ///
  /// - Parameters:
  ///   - part: Read in the exclusive section of each commit, on its thread.
  ///   - initial: Whether it is notified of the present value first.
  ///   - body: Called with each change, never while the store's lock is held.
  public func observe<Value: Equatable & Sendable>(
    changesOf part: any KeyPath<Model, Value> & Sendable, initial: Bool = false,
    _ body: @escaping @Sendable (PartChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(changesOf: Selector(part), initial: initial, body)
  }

  /// Notifies an observer on a queue of each commit that changes a part of the model, in commit order, until its
  /// token ends.
  ///
  /// As for a selector that reads this part.
  ///
  /// - Parameters:
  ///   - part: Read in the exclusive section of each commit, on its thread.
  ///   - delivery: The queue.
  ///   - initial: Whether it is notified of the present value first.
  ///   - body: Called on the queue with each change, one call after the other; no commit waits for it.
  public func observe<Value: Equatable & Sendable>(
    changesOf part: any KeyPath<Model, Value> & Sendable, on delivery: ObserverDelivery,
    initial: Bool = false, _ body: @escaping @Sendable (PartChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(changesOf: Selector(part), on: delivery, initial: initial, body)
  }

  /// The same on the main queue, isolated to the main actor.
  ///
  /// - Parameters:
  ///   - part: Read in the exclusive section of each commit, on its thread.
  ///   - delivery: `.main`.
  ///   - initial: Whether it is notified of the present value first.
  ///   - body: Called on the main queue with each change; no commit waits for it.
  public func observe<Value: Equatable & Sendable>(
    changesOf part: any KeyPath<Model, Value> & Sendable, on delivery: MainDelivery,
    initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (PartChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(changesOf: Selector(part), on: delivery, initial: initial, body)
  }
}
