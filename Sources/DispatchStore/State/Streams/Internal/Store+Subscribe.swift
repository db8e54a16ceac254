// Inlinable, so that the closures called at each commit are specialised for the store's types.
extension Store {
  @inlinable
  func changes<Value: Sendable>(
    of projection: @escaping @Sendable (Model) -> Value,
    by areEqual: (@Sendable (Value, Value) -> Bool)?, _ policy: StreamBufferingPolicy,
    _ initial: Bool
  ) -> StoreStream<ValueChange<Value, Action>> {
    policy.check()
    return StoreStream { [weak self] in
      // The value after the previous change. The first call, for the current model, only sets it.
      var old: Value?
      let subscription = StreamSubscription(to: self, policy, initial: initial) { commit, _ in
        let new = projection(commit.model(of: Self.self))
        if let old, let areEqual, areEqual(old, new), !commit.isPresentModel { return nil }
        defer { old = new }
        return Streamed<ValueChange<Value, Action>>(
          ValueChange(
            old: old ?? new, new: new, version: commit.version,
            action: commit.action(of: Self.self), dispatchID: commit.dispatchID))
      }
      return StoreStream<ValueChange<Value, Action>>.Iterator(subscription) {
        Streamed<ValueChange<Value, Action>>.of($0)
      }
    }
  }

  /// Streams the projected values, equal ones included.
  @inlinable
  func allValues<Value: Sendable>(
    of projection: @escaping @Sendable (Model) -> Value, _ policy: StreamBufferingPolicy,
    _ initial: Bool
  ) -> StoreStream<Value> {
    policy.check()
    return StoreStream { [weak self] in
      let subscription = StreamSubscription(to: self, policy, initial: initial) { commit, _ in
        Streamed<Value>(projection(commit.model(of: Self.self)))
      }
      return StoreStream<Value>.Iterator(subscription) { Streamed<Value>.of($0) }
    }
  }

  /// Streams the projected values without repetition.
  ///
  /// Compares both when a value is kept and when it is delivered.
  @inlinable
  func distinctValues<Value: Sendable & Equatable>(
    of projection: @escaping @Sendable (Model) -> Value, _ policy: StreamBufferingPolicy,
    _ initial: Bool
  ) -> StoreStream<Value> {
    policy.check()
    return StoreStream { [weak self] in
      let subscription = StreamSubscription(
        to: self, policy, initial: initial, comparesWithLast: true
      ) { commit, last in
        let value = projection(commit.model(of: Self.self))
        return last.map { Streamed<Value>.of($0) == value } == true ? nil : Streamed<Value>(value)
      }
      var last: Value?
      return StoreStream<Value>.Iterator(subscription) { kept in
        let value = Streamed<Value>.of(kept)
        if value == last { return nil }
        last = value
        return value
      }
    }
  }

  /// The models as they are when the consumer takes them: what is kept is that there is a new one, and the last model
  /// once the store goes.
  @inlinable
  func presentModels(initial: Bool) -> StoreStream<Model> {
    StoreStream { [weak self] in
      weak let storage = self?.storage
      let note = Streamed<(model: Model, version: UInt64)?>(nil)
      let subscription = StreamSubscription(
        to: self, .bufferingOldest(1), initial: initial, keepsLastModel: true
      ) { commit, _ in
        commit.isLastModel
          ? Streamed<(model: Model, version: UInt64)?>(
            (commit.model(of: Self.self), commit.version)) : note
      }
      var last: UInt64?
      return StoreStream<Model>.Iterator(subscription) { kept in
        // If the storage has been released since the note was kept, the note has the model.
        let kept = Streamed<(model: Model, version: UInt64)?>.of(kept) ?? storage?.snapshot
        guard let (model, version) = kept, version != last else { return nil }
        last = version
        return model
      }
    }
  }
}

extension CommitInProgress {
  @inlinable
  func model<Model, Action>(of store: Store<Model, Action>.Type) -> Model {
    model.assumingMemoryBound(to: Model.self).pointee
  }

  @inlinable
  func action<Model, Action>(of store: Store<Model, Action>.Type) -> Action? {
    action.assumingMemoryBound(to: Action?.self).pointee
  }
}

extension ModelStorage {
  /// The current model, with its version.
  @usableFromInline var snapshot: (model: Model, version: UInt64) {
    ExclusiveSection.check(self, "read", on: .current)
    yieldPoint(.read, identifier)
    return withLock { _ in (model.pointee, version) }
  }
}
