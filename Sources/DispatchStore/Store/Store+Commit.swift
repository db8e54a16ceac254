extension Store {
  /// Changes the model inside the exclusive section, then tells the observers, outside it.
  ///
  /// - Parameters:
  ///   - owner: The part on whose behalf, where an operation says so; otherwise the one whose block
  ///     runs here, if any.
  ///   - action: The action to tell the observers of, where it is not the part's.
  @discardableResult
  func commit<Value, Failure: Error>(
    for owner: (any CommitOwner)?, action: Action?, on thread: ThreadState = .current,
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    ExclusiveSection.check(self, "changed", on: thread)
    box.lock.lock()
    guard box.core.isObserved else {
      // Nobody can begin to observe before the lock is left: there is nobody to tell.
      thread.exclusive = self
      defer {
        box.core.committed()
        thread.exclusive = nil
        box.lock.unlock()
      }
      return try body(&box.core.model)
    }
    box.lock.unlock()
    return try commitObserved(for: owner, action: action, on: thread, body)
  }

  private func commitObserved<Value, Failure: Error>(
    for owner: (any CommitOwner)?, action: Action?, on thread: ThreadState,
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let owner = owner ?? DispatchContext.current(on: thread)?.owner
    let action = action ?? owner?.action(in: self)
    let isToldOf = action.map { reducer.shouldNotifyObservers(for: $0, in: self) } ?? true
    box.lock.lock()
    thread.exclusive = self
    defer {
      // The turn is drawn where the lock is left, so that telling follows commit order.
      box.core.committed()
      let turn =
        isToldOf
        ? box.core.notice(action: action, owner: owner, mayWait: thread.turns.isEmpty) : .none
      thread.exclusive = nil
      box.lock.unlock()
      take(turn, on: thread)
    }
    return try body(&box.core.model)
  }
}
