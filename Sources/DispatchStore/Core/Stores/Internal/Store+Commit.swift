extension Store {
  /// Changes the model inside the exclusive section, then notifies the observers outside of it.
  ///
  /// - Parameters:
  ///   - owner: The owner, if an operation commits. If nil, and the store is observed, the owner is the store run whose
  ///     block runs on this thread, if any.
  ///   - action: The action that observers get with the change, if it is not the owner's.
  ///   - reducer: The reducer that is called, which may declare that it has changed nothing.
  @discardableResult
  @inlinable
  func commit<Value, Failure: Error>(
    for owner: @autoclosure () -> (any CommitOwner)?, action: @autoclosure () -> Action?,
    by reducer: Reducer<Model, Action>? = nil, on present: ThreadState? = nil,
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let thread = present ?? .here(storage)
    if storage.lockIfUnobserved(on: thread) {
      defer { storage.unlockCommitted(by: reducer.map { ObjectIdentifier($0) }, on: thread) }
      return try body(&storage.model.pointee)
    }
    return try commitObserved(for: owner(), action: action(), by: reducer, on: thread, body)
  }

  /// Changes the model of a store that may be observed, then notifies the observers.
  ///
  /// Inlinable, so that it is specialised for the store's types.
  @inlinable
  @inline(never)
  func commitObserved<Value, Failure: Error>(
    for owner: (any CommitOwner)?, action: Action?, by caller: Reducer<Model, Action>? = nil,
    on thread: ThreadState, _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let context = owner.map(CommitContext.owner) ?? .current(on: thread)
    defer { context.end(on: thread) }
    let action = action ?? context.action(in: self, on: thread)
    let isDelivered = action.map { reducer.shouldNotifyObservers(for: $0, in: self) } ?? true
    if isDelivered, storage.lockToDeliver(on: thread) {
      defer {
        if let caller, thread.isUnchanged(by: ObjectIdentifier(caller)) {
          storage.unlockUnchanged(on: thread)
        } else {
          deliver(action, of: context.dispatchID, on: thread)
        }
      }
      return try body(&storage.model.pointee)
    }
    let owner = context.makeOwner(on: thread)
    storage.lockToNotify(on: thread)
    defer {
      if let caller, thread.isUnchanged(by: ObjectIdentifier(caller)) {
        storage.unlockUnchanged(on: thread)
      } else {
        storage.unlockAndNotify(
          isDelivered && storage.isDelivered ? makeChange(action, owner) : nil,
          storage.isKept
            ? keepChange(action, owner, owner?.dispatchID, isDelivered) : KeptCommit(),
          for: owner, on: thread)
      }
    }
    return try body(&storage.model.pointee)
  }

  /// Ends the exclusive section that `lockToDeliver` has begun: no observer needs the owner of the commit.
  @inlinable
  func deliver(_ action: Action?, of dispatchID: DispatchID?, on thread: ThreadState) {
    let kept = storage.isKept ? keepChange(action, nil, dispatchID, true) : KeptCommit()
    if storage.isDelivered {
      let change = ObservedModel(
        storage.model.pointee, version: storage.version &+ 1, action: action,
        dispatchID: dispatchID)
      withUnsafePointer(to: change) { storage.unlockAndDeliver($0, kept, on: thread) }
    } else {
      storage.unlockAndNotify(nil, kept, for: nil, on: thread)
    }
  }

  /// Returns the change that the commit will be, with the model if an observer needs it.
  @inlinable
  func makeChange(_ action: Action?, _ owner: (any CommitOwner)?) -> KeptChange {
    guard storage.deliversModel else { return KeptChange(version: storage.version &+ 1) }
    return TypedChange<Model, Action>(
      ObservedModel(
        storage.model.pointee, version: storage.version &+ 1, action: action,
        dispatchID: owner?.dispatchID))
  }

  /// Lets observers keep their part of the commit.
  @inlinable
  @inline(never)
  func keepChange(
    _ action: Action?, _ owner: (any CommitOwner)?, _ dispatchID: DispatchID?,
    _ isDelivered: Bool, isTogether: Bool = false
  ) -> KeptCommit {
    withUnsafePointer(to: action) {
      storage.keep(
        model: storage.model, action: $0, of: owner, dispatchID, isDelivered, isTogether: isTogether
      )
    }
  }
}
