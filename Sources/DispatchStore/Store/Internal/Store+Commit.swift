extension Store {
  /// Changes the model inside the exclusive section, then tells the observers, outside it.
  ///
  /// - Parameters:
  ///   - owner: The part on whose behalf, where an operation says so; otherwise the one whose block
  ///     runs here, if any.
  ///   - action: The action to tell the observers of, where it is not the part's.
  @discardableResult
  @inlinable
  @inline(__always)
  func commit<Value, Failure: Error>(
    for owner: @autoclosure () -> (any CommitOwner)?, action: @autoclosure () -> Action?,
    on present: ThreadState? = nil, _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let thread = present ?? .here(storage)
    if storage.enter(on: thread) {
      defer { storage.leave(on: thread) }
      return try body(&storage.model.pointee)
    }
    return try commitObserved(for: owner(), action: action(), on: thread, body)
  }

  /// The same where somebody may have to be told; inlined, so that it is compiled for the store's types.
  @inlinable
  @inline(never)
  func commitObserved<Value, Failure: Error>(
    for owner: (any CommitOwner)?, action: Action?, on thread: ThreadState,
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let owner = owner ?? DispatchContext.owner(on: thread)
    let action = action ?? owner?.action(in: self)
    let isToldOf = action.map { reducer.shouldNotifyObservers(for: $0, in: self) } ?? true
    storage.enterToTell(on: thread)
    defer {
      let change = isToldOf ? makeChange(action, owner) : nil
      storage.leaveAndTell(change, for: owner, on: thread)
    }
    return try body(&storage.model.pointee)
  }

  /// The change that the commit is about to be.
  @inlinable
  func makeChange(
    _ action: Action?, _ owner: (any CommitOwner)?
  ) -> TypedChange<Model, Action> {
    TypedChange(
      StoreChange(
        model: storage.model.pointee, version: storage.version &+ 1, action: action,
        transaction: owner?.transaction))
  }
}
