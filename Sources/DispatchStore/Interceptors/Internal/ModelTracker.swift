/// Keeps a store's present model, and for each action under way the models around its commits.
///
/// It is listed with the observers on queues, since those get what they keep in the exclusive section, in commit
/// order, and need no delivery turn; nothing is ever scheduled there.
final class ModelTracker<Model: Sendable, Action: ActionType>: ObserverRecord, StoreTracker,
  @unchecked Sendable
{
  // because its superclass is, and `store` changes only where the store is released
  private weak var store: Store<Model, Action>?
  private let history: Locked<ModelHistory<Model>?> = Locked(nil)

  init(of store: Store<Model, Action>) {
    self.store = store
    super.init(on: .main)
  }

  var trackedStore: AnyStore? { store }

  override func keep(_ commit: CommitInProgress) -> Bool {
    let state = ModelHistory.State(
      model: commit.model.assumingMemoryBound(to: Model.self).pointee, version: commit.version)
    // An action's own commits have it; what it commits to other stores has the transaction alone.
    let isOfAction = commit.action.assumingMemoryBound(to: Action?.self).pointee != nil
    var replaced: ModelHistory<Model>.State?
    history.withLock { history in
      guard history != nil else { return history = ModelHistory(state) }
      replaced = history?.commit(state, by: isOfAction ? commit.transaction : nil)
    }
    withExtendedLifetime(replaced) {}
    return false
  }

  func begin(_ id: TransactionID) {
    history.withLock { $0?.begin(id) }
  }

  func end(
    _ transaction: MiddlewareContext, _ action: AnyAction, for interceptor: any Interceptor
  ) {
    let store = store
    guard let span = takeSpan(of: transaction.id, in: store), let store,
      let action = action as? Action, transaction.outcome?.isHandled == true
    else { return }
    interceptor.didHandle(
      Interception(
        storeIdentifier: store.identifier, action: action, oldModel: span.old.model,
        oldVersion: span.old.version, newModel: span.new.model, newVersion: span.new.version,
        commitCount: span.commitCount, transaction: transaction))
  }

  private func takeSpan(
    of id: TransactionID, in store: Store<Model, Action>?
  ) -> ModelHistory<Model>.Span? {
    if let span = history.withLock({ $0?.takeSpan(of: id) }) { return span }
    // It committed nothing, or its reducer has withheld that from observers.
    guard let present = store?.presentState else { return nil }
    let (span, replaced) =
      history.withLock { history in
        (history?.spanWithoutCommit(present: present)).map { ($0.span, $0.replaced) }
      } ?? (nil, nil)
    withExtendedLifetime(replaced) {}
    return span
  }
}

/// A store that a tracker can follow: any `Store`.
protocol TrackedStore: StoreType {
  func track() -> Tracking
}

extension Store: TrackedStore {
  func track() -> Tracking {
    let tracker = ModelTracker(of: self)
    return Tracking(tracker: tracker, token: observe(tracker, initial: true))
  }

  /// The model and its version at one instant.
  fileprivate var presentState: ModelHistory<Model>.State {
    ExclusiveSection.check(storage, "read", on: .current)
    return storage.withLock { _ in
      ModelHistory.State(model: storage.model.pointee, version: storage.version)
    }
  }
}

extension StoreOutcome {
  /// Whether the store's code ran, as far as the outcome says.
  fileprivate var isHandled: Bool {
    switch self {
    case .finished, .failed, .cancelled(hasStarted: true): true
    case .cancelled, .vetoed: false
    }
  }
}
