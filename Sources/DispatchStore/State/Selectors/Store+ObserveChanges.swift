// By selector.
extension Store {
  /// Notifies an observer of each commit that changes a selector's value, in commit order, until its token ends.
  ///
  /// Like `observe(initial:_:)`, `body` is called on the thread that committed, or by the store's notifier. A value
  /// of an `Equatable` type has changed if it differs from the previous one; a value of another type, if an input has
  /// changed. If `shouldNotifyObservers` suppresses a commit, the next change includes it. The store retains the
  /// values that the selectors read, but never the whole model.
  ///
  /// - Parameters:
  ///   - selector: Reads the model in the exclusive section of each commit, on its thread. Values are compared, and
  ///     combined selectors computed, before the call, on its thread, with no lock held.
  ///   - initial: Whether the observer is first notified of the current value.
  ///   - body: Called with each change, never while the store's lock is held.
  public func observe<Value>(
    changesOf selector: StateSelector<Model, Value>, initial: Bool = false,
    _ body: @escaping @Sendable (PartChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(PartObserver(selector, on: nil, of: Self.self, body), initial: initial)
  }

  /// Notifies an observer on a queue of each commit that changes a selector's value, in commit order, until its token
  /// ends.
  ///
  /// If the values that the selector reads have the same bytes as before, a commit enqueues nothing. Otherwise these
  /// values are kept until the queue delivers them: a slow queue gets every change, late.
  ///
  /// - Parameters:
  ///   - selector: Reads the model in the exclusive section of each commit, on its thread. Values are compared, and
  ///     combined selectors computed, on the queue.
  ///   - delivery: The queue.
  ///   - initial: Whether the observer is first notified of the current value.
  ///   - body: Called on the queue with each change, one call after the other; no commit waits for it.
  public func observe<Value>(
    changesOf selector: StateSelector<Model, Value>, on delivery: ObserverDelivery,
    initial: Bool = false, _ body: @escaping @Sendable (PartChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(
      PartObserver(selector, on: ObserverQueue(delivery), of: Self.self, body), initial: initial)
  }

  /// Notifies a main-actor observer, on the main queue, of each commit that changes a selector's value.
  ///
  /// - Parameters:
  ///   - selector: Reads the model in the exclusive section of each commit, on its thread. Values are compared, and
  ///     combined selectors computed, on the main queue.
  ///   - delivery: `.main`.
  ///   - initial: Whether the observer is first notified of the current value.
  ///   - body: Called on the main queue with each change; no commit waits for it.
  public func observe<Value>(
    changesOf selector: StateSelector<Model, Value>, on delivery: MainDelivery,
    initial: Bool = false,
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
  /// Behaves like an observer of a selector that reads this part.
  ///
  /// - Parameters:
  ///   - part: Read in the exclusive section of each commit, on its thread.
  ///   - initial: Whether the observer is first notified of the current value.
  ///   - body: Called with each change, never while the store's lock is held.
  public func observe<Value: Equatable & Sendable>(
    changesOf part: any KeyPath<Model, Value> & Sendable, initial: Bool = false,
    _ body: @escaping @Sendable (PartChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(changesOf: StateSelector(part), initial: initial, body)
  }

  /// Notifies an observer on a queue of each commit that changes a part of the model, in commit order, until its
  /// token ends.
  ///
  /// Behaves like an observer of a selector that reads this part.
  ///
  /// - Parameters:
  ///   - part: Read in the exclusive section of each commit, on its thread.
  ///   - delivery: The queue.
  ///   - initial: Whether the observer is first notified of the current value.
  ///   - body: Called on the queue with each change, one call after the other; no commit waits for it.
  public func observe<Value: Equatable & Sendable>(
    changesOf part: any KeyPath<Model, Value> & Sendable, on delivery: ObserverDelivery,
    initial: Bool = false, _ body: @escaping @Sendable (PartChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(changesOf: StateSelector(part), on: delivery, initial: initial, body)
  }

  /// Notifies a main-actor observer, on the main queue, of each commit that changes a part of the model.
  ///
  /// - Parameters:
  ///   - part: Read in the exclusive section of each commit, on its thread.
  ///   - delivery: `.main`.
  ///   - initial: Whether the observer is first notified of the current value.
  ///   - body: Called on the main queue with each change; no commit waits for it.
  public func observe<Value: Equatable & Sendable>(
    changesOf part: any KeyPath<Model, Value> & Sendable, on delivery: MainDelivery,
    initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (PartChange<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(changesOf: StateSelector(part), on: delivery, initial: initial, body)
  }
}
