extension ChildStore {
  /// Notifies an observer of each commit of the store, with the part after it, until its token ends.
  ///
  /// Of each commit, because values of this type can't be compared. In all else as for a part that is `Equatable`.
  @inlinable
  public func observe(
    on delivery: ObserverDelivery? = nil, initial: Bool = false,
    _ body: @escaping @Sendable (ChildChange<Model>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, by: nil) { body($0.unwrapped()) }
  }

  /// The same on the main queue, isolated to the main actor.
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
  /// It is compared in the exclusive section of the commit, with its value at the last call, or else at the call of
  /// this method. That value is kept: the next commit that changes the part copies what it stores by copy-on-write.
  ///
  /// - Parameters:
  ///   - delivery: The queue; where none is given, it is called as by `Store.observe`: on the thread that
  ///     committed, or by the store's notifier.
  ///   - initial: Whether it is notified of the present part first.
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

  /// The same on the main queue, isolated to the main actor.
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
