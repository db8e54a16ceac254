/// A part of a store's model, with the actions for it; without the types of the store.
///
/// It has nothing of the model: each call goes to the store. What has the store's types is a closure, compiled for
/// them where the program makes a child.
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

  /// A part of it.
  @inlinable
  func appending<Next, Local>(
    _ path: PartPath<Next>, _ actions: PartActions<Local>
  ) -> StorePart<Next, Local> {
    StorePart<Next, Local>(of: root, self.path.appending(path), actions)
  }

  /// Calls a closure with the part, in the exclusive section; false where it is gone.
  ///
  /// Tracked as a read of the store: which parts a commit has changed is not known.
  @inlinable
  func read(_ body: (UnsafePointer<Model>) -> Void) -> Bool {
    let storage = root.storage
    let thread = ThreadState.here(storage)
    storage.noteRead(on: thread)
    storage.lockToRead(on: thread)
    defer { storage.unlockUnchanged(on: thread) }
    return path.read(root.model, body)
  }

  /// The part as it is; nil where it is gone.
  @inlinable
  func snapshot() -> Model? {
    var snapshot: Model?
    _ = read { snapshot = $0.pointee }
    return snapshot
  }

  /// Reads the part by a closure that may throw; nil where it is gone.
  @inlinable
  func withModel<Value, Failure: Error>(
    _ body: (Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    var result: Result<Value, Failure>?
    _ = read { model in result = Result { () throws(Failure) in try body(model.pointee) } }
    return try result?.get()
  }

  /// Changes the part by a closure that may throw: one commit; nil, and none, where it is gone.
  @inlinable
  func updateModel<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    try path.update(by: root.commit, body)
  }
}

extension StorePart {
  /// The error of a change of the part where it is gone.
  @usableFromInline
  var missing: DispatchError { .partMissing(path.name(), of: root.storage.identifier) }
}

/// The store that a part is of, without its types; kept alive.
@usableFromInline
struct PartRoot: @unchecked Sendable {
  // because it is constant, and the store's lock guards what is at `model`
  @usableFromInline let storage: StoreStorage
  @usableFromInline let model: UnsafeMutableRawPointer
  /// Changes the model, unless the closure says that it has found nothing to change: then there is no commit.
  @usableFromInline let commit: @Sendable ((UnsafeMutableRawPointer) -> Bool) -> Void
  /// Registers an observer.
  @usableFromInline let add: @Sendable (ObserverRecord, _ initial: Bool) -> ObserverToken
  /// The optional action at an address, without its type.
  @usableFromInline let actionOf: @Sendable (UnsafeRawPointer) -> AnyAction?

  @inlinable
  init<Model, Action>(_ store: Store<Model, Action>) {
    storage = store.storage
    model = UnsafeMutableRawPointer(store.storage.model)
    commit = { body in
      // On behalf of the store's reducer, which is so said to have changed nothing.
      store.commit(for: nil, action: nil, by: store.reducer) {
        PartialReduction.change(&$0, by: store.reducer, body)
      }
    }
    add = { store.observe($0, initial: $1) }
    actionOf = { $0.assumingMemoryBound(to: Action?.self).pointee }
  }
}
