extension Store {
  /// Streams the models of the store, beginning with the current one.
  ///
  /// With the default policy, a consumer gets the model at the time when it takes it. Nothing is kept, commits copy
  /// nothing, and no model is delivered twice. With any other policy, each model is kept until it is taken, so the
  /// next commit copies by copy-on-write. For a part of a large model, use `values(of:buffering:initial:)`.
  ///
  /// - Parameters:
  ///   - policy: The buffering for a lagging consumer.
  ///   - initial: Whether the current model comes first. Otherwise the model of the next commit.
  @inlinable
  public func models(
    buffering policy: StreamBufferingPolicy = .bufferingNewest(1), initial: Bool = true
  ) -> StoreStream<Model> {
    if policy == .bufferingNewest(1) { return presentModels(initial: initial) }
    return allValues(of: { $0 }, policy, initial)
  }

  /// Streams the changes of the store, with action, old and new model: one for each commit that notifies observers.
  ///
  /// The stream keeps the model of its last change, so each commit copies by copy-on-write. For a large model, use
  /// the changes of a part: `changes(of:buffering:initial:)`.
  ///
  /// - Parameters:
  ///   - policy: The buffering for a lagging consumer.
  ///   - initial: Whether the current model comes first, as old and new model and without an action.
  @inlinable
  public func changes(
    buffering policy: StreamBufferingPolicy = .unbounded, initial: Bool = false
  ) -> StoreStream<ValueChange<Model, Action>> {
    changes(of: { $0 }, by: nil, policy, initial)
  }

  /// Streams the changes of a part of the model: one for each commit that notifies observers.
  ///
  /// - Parameters:
  ///   - projection: The part, as a closure or key path. It runs in each commit's exclusive section, on its thread,
  ///     so it must
  ///     be quick and read only its argument.
  ///   - policy: The buffering for a lagging consumer.
  ///   - initial: Whether the current value comes first, as old and new value and without an action.
  @inlinable
  public func changes<Value: Sendable>(
    of projection: @escaping @Sendable (Model) -> Value,
    buffering policy: StreamBufferingPolicy = .unbounded, initial: Bool = false
  ) -> StoreStream<ValueChange<Value, Action>> {
    changes(of: projection, by: nil, policy, initial)
  }

  /// Streams the changes of a part of the model: one for each commit after which the part is no longer equal.
  ///
  /// - Parameters:
  ///   - projection: The part, as a closure or key path. It runs in each commit's exclusive section, on its thread,
  ///     and so does
  ///     `==`. Both must be quick and read only their arguments.
  ///   - policy: The buffering for a lagging consumer.
  ///   - initial: Whether the current value comes first, as old and new value and without an action.
  @inlinable
  public func changes<Value: Sendable & Equatable>(
    of projection: @escaping @Sendable (Model) -> Value,
    buffering policy: StreamBufferingPolicy = .unbounded, initial: Bool = false
  ) -> StoreStream<ValueChange<Value, Action>> {
    changes(of: projection, by: { $0 == $1 }, policy, initial)
  }

  /// Streams the values of a part of the model: the current one, then one for each commit that notifies observers.
  ///
  /// - Parameters:
  ///   - projection: The part, as a closure or key path. It runs in each commit's exclusive section, on its thread,
  ///     so it must
  ///     be quick and read only its argument.
  ///   - policy: The buffering for a lagging consumer.
  ///   - initial: Whether the current value comes first. Otherwise the value of the next commit.
  @inlinable
  public func values<Value: Sendable>(
    of projection: @escaping @Sendable (Model) -> Value,
    buffering policy: StreamBufferingPolicy = .bufferingNewest(1), initial: Bool = true
  ) -> StoreStream<Value> {
    allValues(of: projection, policy, initial)
  }

  /// Streams the values of a part of the model, beginning with the current one, without repetition.
  ///
  /// An equal value is not delivered twice in a row, even if the values between were dropped.
  ///
  /// - Parameters:
  ///   - projection: The part, as a closure or key path. It runs in each commit's exclusive section, on its thread,
  ///     and so does
  ///     `==`. Both must be quick and read only their arguments.
  ///   - policy: The buffering for a lagging consumer.
  ///   - initial: Whether the current value comes first. Otherwise the first one that differs from it.
  @inlinable
  public func values<Value: Sendable & Equatable>(
    of projection: @escaping @Sendable (Model) -> Value,
    buffering policy: StreamBufferingPolicy = .bufferingNewest(1), initial: Bool = true
  ) -> StoreStream<Value> {
    distinctValues(of: projection, policy, initial)
  }
}
