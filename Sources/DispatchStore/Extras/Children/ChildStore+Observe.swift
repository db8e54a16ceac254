extension ChildStore {
  /// Calls an observer with each change of the part, in commit order, until its token ends.
  ///
  /// If the part is `Equatable`, commits that leave it equal to the previous value (at first, that at registration) are no
  /// changes. The `==` runs where the observer is called, with no lock held. The value is kept, so the next commit that
  /// changes the part copies it. Other parts count as changed at each commit.
  ///
  /// The action of a change is the one of the store, not of the child.
  ///
  /// - Parameters:
  ///   - initial: Whether the observer gets the present part first.
  ///   - delivery: The place where the observer is called, as for `Store.observe`.
  ///   - body: Called with each change, never while the store's lock is held.
  @inlinable
  public func observe(
    initial: Bool = false, on delivery: ObserverDelivery = .inline,
    _ body: @escaping @Sendable (Change<Model, HandledAction>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial) { body($0.unwrapped()) }
  }

  /// Calls a main-actor observer on the main queue with each change of the part.
  @inlinable
  public func observe(
    initial: Bool = false, on delivery: MainDelivery,
    _ body: @escaping @MainActor @Sendable (Change<Model, HandledAction>) -> Void
  ) -> ObserverToken {
    observe(initial: initial, on: .onMain, MainDelivery.isolated(body))
  }
}

extension OptionalChildStore {
  /// Calls an observer with each change of the part, in commit order, until its token ends.
  ///
  /// The value is nil when the part is removed, and there is another change, whose `old` is nil, if one is added under
  /// the same identity.
  /// If you don't need that, cancel the token then: commits pay nothing more. Otherwise behaves like
  /// `ChildStore.observe`.
  ///
  /// - Parameters:
  ///   - initial: Whether the observer gets the present part first.
  ///   - delivery: The place where the observer is called, as for `Store.observe`.
  ///   - body: Called with each change, never while the store's lock is held.
  @inlinable
  public func observe(
    initial: Bool = false, on delivery: ObserverDelivery = .inline,
    _ body: @escaping @Sendable (Change<Model?, HandledAction>) -> Void
  ) -> ObserverToken {
    part.observe(on: delivery, initial: initial, body)
  }

  /// Calls a main-actor observer on the main queue with each change of the part.
  @inlinable
  public func observe(
    initial: Bool = false, on delivery: MainDelivery,
    _ body: @escaping @MainActor @Sendable (Change<Model?, HandledAction>) -> Void
  ) -> ObserverToken {
    observe(initial: initial, on: .onMain, MainDelivery.isolated(body))
  }
}
