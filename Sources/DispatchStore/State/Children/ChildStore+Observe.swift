extension ChildStore {
  /// Notifies an observer of each commit of the store, with the part after it, until its token ends.
  ///
  /// Commits that leave the part unchanged are included, because values of this type can't be compared.
  @inlinable
  public func observe(
    on delivery: ObserverDelivery? = nil, initial: Bool = false,
    _ body: @escaping @Sendable (ChildChange<Model>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, by: nil) { body($0.unwrapped()) }
  }

  /// Notifies a main-actor observer, on the main queue, of each commit of the store.
  @inlinable
  public func observe(
    on delivery: MainDelivery, initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (ChildChange<Model>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, by: nil) { body($0.unwrapped()) }
  }
}

extension ChildStore where Model: Equatable {
  /// Notifies an observer of each commit of the store that has changed the part, once and in commit order, until its
  /// token ends.
  ///
  /// The part is compared in the exclusive section of the commit, with its value at the previous call (at first, at
  /// registration). That value is retained, so the next commit that changes the part triggers copy-on-write.
  ///
  /// - Parameters:
  ///   - delivery: The queue. If nil, `body` is called as by `Store.observe`: on the thread that committed, or by the
  ///     store's notifier.
  ///   - initial: Whether the observer is first notified of the current part.
  ///   - body: Called with each change, never while the store's lock is held.
  @inlinable
  public func observe(
    on delivery: ObserverDelivery? = nil, initial: Bool = false,
    _ body: @escaping @Sendable (ChildChange<Model>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, by: { $0 == $1 }) {
      body($0.unwrapped())
    }
  }

  /// Notifies a main-actor observer, on the main queue, of each commit of the store that has changed the part.
  @inlinable
  public func observe(
    on delivery: MainDelivery, initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (ChildChange<Model>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, by: { $0 == $1 }) {
      body($0.unwrapped())
    }
  }
}
