extension OptionalChildStore {
  /// Notifies an observer of each commit of the store, with the part after it, until its token ends.
  ///
  /// Commits that leave the part unchanged are included, because values of this type can't be compared.
  @inlinable
  public func observe(
    on delivery: ObserverDelivery? = nil, initial: Bool = false,
    _ body: @escaping @Sendable (ChildChange<Model?>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, by: nil, body)
  }

  /// Notifies a main-actor observer, on the main queue, of each commit of the store.
  @inlinable
  public func observe(
    on delivery: MainDelivery, initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (ChildChange<Model?>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, by: nil, body)
  }
}

extension OptionalChildStore where Model: Equatable {
  /// Notifies an observer of each commit that has changed, added or removed the part, once and in commit order, until
  /// its token ends.
  ///
  /// The observer gets nil when the part is removed, and is notified again if one is added under the same identity.
  /// If you don't need that, cancel the token then: commits pay nothing more. Otherwise behaves like
  /// `ChildStore.observe`.
  ///
  /// - Parameters:
  ///   - delivery: The queue. If nil, `body` is called as by `Store.observe`: on the thread that committed, or by the
  ///     store's notifier.
  ///   - initial: Whether the observer is first notified of the current part.
  ///   - body: Called with each change, never while the store's lock is held.
  @inlinable
  public func observe(
    on delivery: ObserverDelivery? = nil, initial: Bool = false,
    _ body: @escaping @Sendable (ChildChange<Model?>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, by: { $0 == $1 }, body)
  }

  /// Notifies a main-actor observer, on the main queue, of each commit that has changed, added or removed the part.
  @inlinable
  public func observe(
    on delivery: MainDelivery, initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (ChildChange<Model?>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, by: { $0 == $1 }, body)
  }
}
