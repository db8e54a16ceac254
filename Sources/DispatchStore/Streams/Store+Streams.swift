extension Store {
  /// The models of the store, beginning with the present one.
  ///
  /// With the default policy a consumer gets the model as it is when it comes to take it: nothing is kept, a commit
  /// copies nothing, and a model that was taken is not delivered again. With any other policy each model is kept until
  /// it is taken, so that the next commit copies what it stores by copy-on-write; for a part of a large model, use
  /// `values(of:buffering:initial:)`.
  ///
  /// - Parameters:
  ///   - policy: What is kept for a consumer that is behind.
  ///   - initial: Whether the present model comes first; else the one of the next commit.
  @inlinable
  public func models(
    buffering policy: StreamBufferingPolicy = .bufferingNewest(1), initial: Bool = true
  ) -> StoreStream<Model> {
    if policy == .bufferingNewest(1) { return presentModels(initial: initial) }
    return allValues(of: { $0 }, policy, initial)
  }

  /// The changes of the store, one for each commit of which observers are notified: action, old and new model.
  ///
  /// The stream keeps the model of its last change, so that each commit copies what the model stores by copy-on-write;
  /// of a large model, use the changes of a part (`changes(of:buffering:initial:)`).
  ///
  /// - Parameters:
  ///   - policy: What is kept for a consumer that is behind.
  ///   - initial: Whether the present model comes first, as old and new one and without an action.
  @inlinable
  public func changes(
    buffering policy: StreamBufferingPolicy = .unbounded, initial: Bool = false
  ) -> StoreStream<ValueChange<Model, Action>> {
    changes(of: { $0 }, by: nil, policy, initial)
  }

  /// The changes of a part of the model, one for each commit of which observers are notified.
  ///
  /// - Parameters:
  ///   - projection: The part, a closure or key path; called in the exclusive section of each commit, on its thread: it
  ///     reads its argument alone, and is quick.
  ///   - policy: What is kept for a consumer that is behind.
  ///   - initial: Whether the present value comes first, as old and new one and without an action.
  @inlinable
  public func changes<Value: Sendable>(
    of projection: @escaping @Sendable (Model) -> Value,
    buffering policy: StreamBufferingPolicy = .unbounded, initial: Bool = false
  ) -> StoreStream<ValueChange<Value, Action>> {
    changes(of: projection, by: nil, policy, initial)
  }

  /// The changes of a part of the model, of commits that make it another one.
  ///
  /// - Parameters:
  ///   - projection: The part, a closure or key path; called in the exclusive section of each commit, on its thread,
  ///     and so is `==`: they read their arguments alone, and are quick.
  ///   - policy: What is kept for a consumer that is behind.
  ///   - initial: Whether the present value comes first, as old and new one and without an action.
  @inlinable
  public func changes<Value: Sendable & Equatable>(
    of projection: @escaping @Sendable (Model) -> Value,
    buffering policy: StreamBufferingPolicy = .unbounded, initial: Bool = false
  ) -> StoreStream<ValueChange<Value, Action>> {
    changes(of: projection, by: { $0 == $1 }, policy, initial)
  }

  /// The values of a part of the model after each commit of which observers are notified, beginning with the present
  /// one.
  ///
  /// - Parameters:
  ///   - projection: The part, a closure or key path; called in the exclusive section of each commit, on its thread: it
  ///     reads its argument alone, and is quick.
  ///   - policy: What is kept for a consumer that is behind.
  ///   - initial: Whether the present value comes first; else the one of the next commit.
  @inlinable
  public func values<Value: Sendable>(
    of projection: @escaping @Sendable (Model) -> Value,
    buffering policy: StreamBufferingPolicy = .bufferingNewest(1), initial: Bool = true
  ) -> StoreStream<Value> {
    allValues(of: projection, policy, initial)
  }

  /// The values of a part of the model, beginning with the present one; an equal one is not delivered again.
  ///
  /// Neither where a commit leaves the value equal, nor where the ones between were dropped.
  ///
  /// - Parameters:
  ///   - projection: The part, a closure or key path; called in the exclusive section of each commit, on its thread,
  ///     and so is `==`: they read their arguments alone, and are quick.
  ///   - policy: What is kept for a consumer that is behind.
  ///   - initial: Whether the present value comes first; else the first one that differs from it.
  @inlinable
  public func values<Value: Sendable & Equatable>(
    of projection: @escaping @Sendable (Model) -> Value,
    buffering policy: StreamBufferingPolicy = .bufferingNewest(1), initial: Bool = true
  ) -> StoreStream<Value> {
    distinctValues(of: projection, policy, initial)
  }
}
