/// A change for an observer of whole models on a queue: the commits since its last call, and the current model.
///
/// No model is kept for the observer: `model` is read when the observer reads it. So two calls may show the same
/// version, and a call may show a later one than that of its last commit.
public struct CoalescedChange<Model: Sendable, Action: ActionType>: Sendable {
  /// The commits since the last call, each once, in commit order.
  ///
  /// Empty for an initial delivery.
  public let commits: [StoreCommit<Action>]

  private let view: ModelView<Model, Action>

  init(commits: [StoreCommit<Action>], of storage: ModelStorage<Model, Action>) {
    self.commits = commits
    view = ModelView(of: storage)
  }

  /// The model as it is now: a snapshot, taken when `model` or `version` is first read.
  ///
  /// While the observer holds the snapshot, the next commit copies by copy-on-write. To read a part of a large model,
  /// use `withModel`.
  public var model: Model { view.snapshot.model }

  /// The version of `model`.
  public var version: UInt64 { view.snapshot.version }

  /// Reads the current model in place, with its version, in the store's exclusive section.
  ///
  /// Copies nothing. Commits wait meanwhile.
  public func withModel<Value, Failure: Error>(
    _ body: (_ model: Model, _ version: UInt64) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let (storage, thread) = (view.storage, ThreadState.current)
    storage.lockToRead(on: thread)
    defer { storage.unlockUnchanged(on: thread) }
    return try body(storage.model.pointee, storage.version)
  }
}

/// A commit of a store, without its model.
public struct StoreCommit<Action: ActionType>: Sendable {
  /// The number of the commit, counted from 1.
  public let version: UInt64
  /// The action that ran, or nil for an update outside a dispatch.
  public let action: Action?
  /// The dispatch that ran the action, or nil for an update outside a dispatch.
  public let dispatchID: DispatchID?
}

/// The model that one call shows, taken at most once.
private final class ModelView<Model: Sendable, Action: ActionType>: @unchecked Sendable {
  // because the store's lock guards `taken`
  let storage: ModelStorage<Model, Action>
  private var taken: (model: Model, version: UInt64)?

  init(of storage: ModelStorage<Model, Action>) {
    self.storage = storage
  }

  var snapshot: (model: Model, version: UInt64) {
    ExclusiveSection.check(storage, "read", on: .current)
    yieldPoint(.read, storage.identifier)
    return storage.withLock { _ in
      if let taken { return taken }
      let present = (storage.model.pointee, storage.version)
      taken = present
      return present
    }
  }
}
