/// A condition on a store's model, without the store's types.
struct StoreCondition: Sendable {
  let storeIdentifier: String
  /// Reads the store's version.
  let version: @Sendable () -> UInt64
  /// Reads the version and the model; the closure calls the program's code, which says whether the condition holds for
  /// that model.
  let capture: @Sendable () -> (version: UInt64, holds: () -> Bool)
  /// Calls a closure after each commit with which the condition holds, until the token ends.
  let observe: @Sendable (@escaping @Sendable () -> Void) -> ObserverToken

  init<Model, Action>(
    _ store: Store<Model, Action>, _ condition: @escaping @Sendable (Model) -> Bool
  ) {
    storeIdentifier = store.identifier
    let storage = store.storage
    // Under the lock, also if reads are published: an atomic action publishes its stores one after the other.
    version = { storage.withLock { _ in storage.version } }
    capture = {
      let (model, version) = storage.snapshot
      return (version, { condition(model) })
    }
    observe = { body in
      store.observe(ConditionObserver { if condition(store.model) { body() } }, initial: false)
    }
  }
}

/// Calls a closure after each commit, on the committing thread, and after the saved model was loaded.
///
/// The call needs no delivery turn, since an observer of the store may wait for the condition.
private final class ConditionObserver: ObserverRecord, @unchecked Sendable {
  // because its superclass is
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = body
    super.init()
  }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    kept.schedule(self)
  }

  override func modelWasLoaded(
    _ model: UnsafeRawPointer, version: UInt64, _ kept: inout KeptCommit
  ) {
    kept.schedule(self)
  }

  /// Calls the closure outside of the store's lock.
  override func scheduleCall() {
    if mayCall { body() }
  }

  override var needsNoTurn: Bool { true }
}
