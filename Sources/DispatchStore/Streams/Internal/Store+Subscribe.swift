extension Store {
  /// A stream in which what is kept is what is delivered.
  func stream<Element: Sendable>(
    _ policy: StreamBufferingPolicy, initial: Bool,
    isRepeat: (@Sendable (_ last: Element, _ next: Element) -> Bool)? = nil,
    _ makeSource: @escaping @Sendable () -> StreamSource<Element>
  ) -> StoreStream<Element> {
    policy.check()
    return StoreStream { [weak self] in
      guard let isRepeat else {
        return StreamSubscription.make(self, policy, initial, makeSource()) { $0 }
      }
      var last: Element?
      return StreamSubscription.make(self, policy, initial, makeSource()) { next in
        if let last, isRepeat(last, next) { return nil }
        last = next
        return next
      }
    }
  }

  func changes<Value: Sendable>(
    of projection: @escaping @Sendable (Model) -> Value,
    by areEqual: (@Sendable (Value, Value) -> Bool)?, _ policy: StreamBufferingPolicy,
    _ initial: Bool
  ) -> StoreStream<ValueChange<Value, Action>> {
    stream(policy, initial: initial) {
      // The value after the change before, which the present one is first of all.
      var old: Value?
      return StreamSource { commit, _ in
        let new = projection(commit.model(of: Self.self))
        if let old, let areEqual, areEqual(old, new), !commit.isPresentModel { return nil }
        defer { old = new }
        return ValueChange(
          old: old ?? new, new: new, version: commit.version, action: commit.action(of: Self.self),
          transaction: commit.transaction)
      }
    }
  }

  func values<Value: Sendable>(
    of projection: @escaping @Sendable (Model) -> Value,
    by areEqual: (@Sendable (Value, Value) -> Bool)?, _ policy: StreamBufferingPolicy,
    _ initial: Bool
  ) -> StoreStream<Value> {
    stream(policy, initial: initial, isRepeat: areEqual) {
      StreamSource(comparesWithLast: areEqual != nil) { commit, last in
        let value = projection(commit.model(of: Self.self))
        if let last, let areEqual, areEqual(last, value) { return nil }
        return value
      }
    }
  }

  /// The models as they are when the consumer takes them: what is kept is that there is a new one.
  func presentModels(initial: Bool) -> StoreStream<Model> {
    StoreStream { [weak self] in
      // The storage, so that the last model can be taken when the store has gone.
      weak let storage = self?.storage
      let source = StreamSource<ModelStorage<Model, Action>> { _, _ in storage }
      var last: UInt64?
      return StreamSubscription.make(self, .bufferingOldest(1), initial, source) { storage in
        let (model, version) = storage.snapshot
        if version == last { return nil }
        last = version
        return model
      }
    }
  }
}

extension StreamSubscription {
  /// Subscribes to a store: what it gets of the present model, and the commits after it, in one transition.
  static func make<Model, Action, Kept: Sendable>(
    _ store: Store<Model, Action>?, _ policy: StreamBufferingPolicy, _ initial: Bool,
    _ source: StreamSource<Kept>, receive: @escaping (Kept) -> Element?
  ) -> StreamSubscription<Element> {
    let storage = StreamStorage<Kept>(policy)
    // Released at once where the store has gone: then the stream has ended.
    let observer = StreamObserver(storage, of: source, initial: initial, policy)
    let isInTwoSteps = isPlanted(.lostBeforeSubscription)
    if isInTwoSteps { store?.keepPresentModelBefore(observer) }
    store?.add(observer, initial: !isInTwoSteps)
    return KeptSubscription(storage, policy, observer, of: store?.storage, receive: receive)
  }
}

extension CommitInProgress {
  func model<Model, Action>(of store: Store<Model, Action>.Type) -> Model {
    model.assumingMemoryBound(to: Model.self).pointee
  }

  func action<Model, Action>(of store: Store<Model, Action>.Type) -> Action? {
    action.assumingMemoryBound(to: Action?.self).pointee
  }
}

extension ModelStorage {
  /// The model as it is, with its version.
  var snapshot: (model: Model, version: UInt64) {
    ExclusiveSection.check(self, "read", on: .current)
    yieldPoint(.read, identifier)
    return withLock { _ in (model.pointee, version) }
  }
}
