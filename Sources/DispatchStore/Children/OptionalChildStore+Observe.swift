extension OptionalChildStore {
  /// Notifies an observer of each commit of the store, with the part after it, until its token ends.
  ///
  /// Of each commit, because values of this type can't be compared. In all else as for a part that is `Equatable`.
  @inlinable
  public func observe(
    on delivery: ObserverDelivery? = nil, initial: Bool = false,
    _ body: @escaping @Sendable (ChildChange<Model?>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, by: nil, body)
  }

  /// The same on the main queue, isolated to the main actor.
  @inlinable
  public func observe(
    on delivery: MainDelivery, initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (ChildChange<Model?>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, by: nil, body)
  }
}

extension OptionalChildStore where Model: Equatable {
  /// Notifies an observer of each commit of the store that has changed, added or removed the part, once and in commit
  /// order, until its token ends.
  ///
  /// With nil where the part is gone; it is notified again where one comes under the same identity. An observer to
  /// which that does not matter cancels its token then, and costs commits nothing more. In all else as
  /// `ChildStore.observe`.
  ///
  /// - Parameters:
  ///   - delivery: The queue; where none is given, it is called as by `Store.observe`: on the thread that
  ///     committed, or by the store's notifier.
  ///   - initial: Whether it is notified of the present part first.
  ///   - body: Called with each change, never while the store's lock is held.
  @inlinable
  public func observe(
    on delivery: ObserverDelivery? = nil, initial: Bool = false,
    _ body: @escaping @Sendable (ChildChange<Model?>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, by: { $0 == $1 }, body)
  }

  /// The same on the main queue, isolated to the main actor.
  @inlinable
  public func observe(
    on delivery: MainDelivery, initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (ChildChange<Model?>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, by: { $0 == $1 }, body)
  }
}
