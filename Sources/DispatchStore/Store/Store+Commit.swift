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
    let thread = present ?? .here(box)
    if box.enter(on: thread) {
      defer { box.leave(on: thread) }
      return try body(&box.model.pointee)
    }
    return try commitObserved(for: owner(), action: action(), on: thread, body)
  }

  @usableFromInline
  @inline(never)
  func commitObserved<Value, Failure: Error>(
    for owner: (any CommitOwner)?, action: Action?, on thread: ThreadState,
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let owner = owner ?? DispatchContext.current(on: thread)?.owner
    let action = action ?? owner?.action(in: self)
    let isToldOf = action.map { reducer.shouldNotifyObservers(for: $0, in: self) } ?? true
    yieldPoint(.commit, on: thread, identifier)
    box.lock.lock()
    thread.exclusive = box
    defer {
      // The turn is drawn where the lock is left, so that telling follows commit order.
      box.version &+= 1
      let turn = isToldOf ? drawTurn(action, owner, on: thread) : .none
      thread.exclusive = nil
      box.lock.unlock()
      take(turn, on: thread)
    }
    return try body(&box.model.pointee)
  }

  private func drawTurn(
    _ action: Action?, _ owner: (any CommitOwner)?, on thread: ThreadState
  ) -> StoreCore<Model, Action>.Turn {
    box.withCore { core in
      core.notice(
        of: StoreChange(
          model: box.model.pointee, version: box.version, action: action,
          transaction: owner?.transaction), owner: owner, mayWait: thread.turns.isEmpty)
    }
  }
}
