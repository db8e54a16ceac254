/// Keeps a store's model while actions are under way, and for each action the models around its commits.
///
/// Needs no delivery turn, because it records in the exclusive section, in commit order.
final class ModelTracker<Model: Sendable, Action: ActionType>: ObserverRecord, StoreTracker,
  @unchecked Sendable
{
  // because its superclass is, and `store` changes only when the store is released
  private weak var store: Store<Model, Action>?
  private let storeIdentifier: String
  /// Only the reducer's class: the reducer goes with its store.
  private let reducer: Reducer<Model, Action>.Type
  private let history = Locked(ModelHistory<Model>())

  init(of store: Store<Model, Action>) {
    self.store = store
    storeIdentifier = store.identifier
    reducer = type(of: store.reducer)
    super.init()
  }

  var trackedStore: AnyStore? { store }

  override var keepsHidden: Bool { true }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    let state = ModelHistory.State(
      model: commit.model.assumingMemoryBound(to: Model.self).pointee, version: commit.version)
    // Only an action's own commits have the action; its commits to other stores have only the transaction.
    let isOfAction = commit.action.assumingMemoryBound(to: Action?.self).pointee != nil
    history.withLockReleasing { $0.commit(state, by: isOfAction ? commit.dispatchID : nil) }
  }

  func begin(_ id: DispatchID) {
    if history.withLock({ $0.begin(id, present: nil) }) { return }
    guard let storage = store?.storage else { return }
    ExclusiveSection.check(storage, "read", on: .current)
    storage.withLock { _ in
      let present = ModelHistory.State(model: storage.model.pointee, version: storage.version)
      _ = history.withLock { $0.begin(id, present: present) }
    }
  }

  func end(_ run: StoreRunInfo, _ action: AnyAction) -> HandledStates? {
    let end = history.withLock { $0.end(run.dispatch.id) }
    guard run.hasStarted, let span = end?.span, let action = reducer.typed(action) else {
      return nil
    }
    return HandledStates(
      storeIdentifier: storeIdentifier, action: action, oldModel: span.old.model,
      oldVersion: span.old.version, newModel: span.new.model, newVersion: span.new.version,
      commitCount: span.commitCount, run: run)
  }
}

/// A store that a tracker can follow: any `Store`.
protocol TrackedStore: StoreType {
  func track() -> Tracking
}

extension Store: TrackedStore {
  func track() -> Tracking {
    let tracker = ModelTracker(of: self)
    return Tracking(tracker: tracker, token: observe(tracker, initial: false))
  }
}
