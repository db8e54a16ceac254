/// A part of a store's model and the actions for it, without the store's types.
///
/// Stores nothing of the model: each call goes to the store. Work that needs the store's types is in closures,
/// compiled for those types by the program that makes the child.
@usableFromInline
final class StorePart<Model: Sendable, Action: ActionType>: Sendable {
  @usableFromInline let root: PartRoot
  @usableFromInline let path: PartPath<Model>
  @usableFromInline let actions: PartActions<Action>

  @inlinable
  init(of root: PartRoot, _ path: PartPath<Model>, _ actions: PartActions<Action>) {
    self.root = root
    self.path = path
    self.actions = actions
  }

  /// The whole model of a store.
  @inlinable
  static func whole(of store: Store<Model, Action>) -> StorePart {
    StorePart(of: PartRoot(store), .stored(at: 0) { "" }, PartActions(of: store))
  }

  /// Returns a part of this part.
  @inlinable
  func appending<Next>(_ path: PartPath<Next>) -> StorePart<Next, Action> {
    StorePart<Next, Action>(of: root, self.path.appending(path), actions)
  }

  /// Returns this part for actions that `embed` converts to its own.
  @inlinable
  func embedding<Local>(
    _ embed: @escaping @Sendable (Local) -> Action
  ) -> StorePart<Model, Local> {
    StorePart<Model, Local>(of: root, path, actions.embedding(embed))
  }

  /// Calls a closure with the part, in the exclusive section; returns false if the part is missing.
  ///
  /// Tracked as a read of the whole store, because the store does not know which parts a commit changes.
  @inlinable
  func read(_ body: (UnsafePointer<Model>) -> Void) -> Bool {
    let storage = root.storage
    let thread = ThreadState.here(storage)
    storage.noteRead(on: thread)
    storage.lockToRead(on: thread)
    defer { storage.unlockUnchanged(on: thread) }
    return path.read(root.model, body)
  }

  /// A copy of the current part; nil if it is missing.
  @inlinable
  func snapshot() -> Model? { withModel { $0 } }

  /// Reads the part with a closure that may throw; returns nil if the part is missing.
  @inlinable
  func withModel<Value, Failure: Error>(
    _ body: (Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    var result: Result<Value, Failure>?
    _ = read { model in result = Result { () throws(Failure) in try body(model.pointee) } }
    return try result?.get()
  }

  /// Changes the part in one commit, with a closure that may throw.
  ///
  /// If the part is missing, nothing is committed.
  @inlinable
  func updateModel<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    var result: Result<Value, Failure>?
    root.commit { whole in
      path.modify(whole) { part in
        result = Result { () throws(Failure) in try body(&part.pointee) }
      }
    }
    return try result?.get()
  }

  /// Changes the part in one commit; throws `partMissing`, without a commit, if the part is missing.
  @inlinable
  func updatePresentModel<Value>(_ body: (inout Model) throws -> Value) throws -> Value {
    guard let value: Value = try updateModel(body) else { throw missing }
    return value
  }
}

extension StorePart {
  /// The error for a change of the part while it is missing.
  @usableFromInline
  var missing: DispatchError { .partMissing(path.name(), of: root.storage.identifier) }
}

/// The store of a part, without its types; kept alive by the part.
@usableFromInline
struct PartRoot: @unchecked Sendable {
  // because it is constant, and the store's lock guards the memory at `model`
  @usableFromInline let storage: StoreStorage
  @usableFromInline let model: UnsafeMutableRawPointer
  /// Changes the model in one commit; if the closure finds nothing to change, there is no commit.
  @usableFromInline let commit: @Sendable ((UnsafeMutableRawPointer) -> Bool) -> Void
  /// The outcomes of the stores that this one waits for, in the current dispatch.
  @usableFromInline let prerequisiteResults: @Sendable () -> [StoreResult]
  /// Adds a follower.
  @usableFromInline let add: @Sendable (Follower) -> ObserverToken
  /// Notes a commit, with the store's action.
  @usableFromInline let note: Follower.Note

  @inlinable
  init<Model, Action>(_ store: Store<Model, Action>) {
    storage = store.storage
    model = UnsafeMutableRawPointer(store.storage.model)
    commit = { body in
      // Commits as the store's reducer, whose `unchanged()` suppresses the commit.
      store.commit(for: nil, action: nil, by: store.reducer) { model in
        let isFound = withUnsafeMutablePointer(to: &model) { body(UnsafeMutableRawPointer($0)) }
        if !isFound { store.reducer.unchanged() }
      }
    }
    prerequisiteResults = { store.prerequisiteResults }
    add = { store.follow($0) }
    note = { commit, value in
      let action =
        commit.isPresentModel
        ? nil : commit.action.assumingMemoryBound(to: Action?.self).pointee
      return TypedNote<HandledAction>(
        value, version: commit.version,
        action: action.map { $0 as? HandledAction ?? HandledAction($0) },
        dispatchID: commit.dispatchID, isInitial: commit.isPresentModel)
    }
  }

  @usableFromInline
  func follow(
    _ reader: CommitReader, _ delivery: ObserverDelivery, _ initial: Bool,
    _ body: @escaping @Sendable (KeptNote, CallingFollower) -> Void
  ) -> ObserverToken {
    add(CallingFollower(reader, on: delivery, initial: initial, note: note, call: body))
  }
}
