extension Store {
  /// Changes the model inside the exclusive section, then tells the observers, outside it.
  ///
  /// - Parameters:
  ///   - part: The part on whose behalf, where an operation says so; otherwise the one whose block
  ///     runs here, if any.
  ///   - action: The action to tell the observers of, where it is not the part's.
  @discardableResult
  func commit<Value, Failure: Error>(
    for part: Part?, action: Action?, _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let thread = ThreadState.current
    let part = part ?? DispatchContext.current(on: thread)?.part
    let action = action ?? (part as? TypedPart<Model, Action>)?.running(in: self)
    let isToldOf = action.map { reducer.shouldNotifyObservers(for: $0, in: self) } ?? true
    let section = ExclusiveSection(of: self, to: "changed")
    var turn = StoreCore<Model, Action>.Turn.none
    // The turn is drawn where the lock is left, so that telling follows commit order.
    defer { take(turn, on: thread) }
    return try core.withLock { core throws(Failure) -> Value in
      defer {
        section.leave()
        turn = core.committed(
          action: action, part: part, isToldOf: isToldOf, mayWait: thread.turns.isEmpty)
      }
      return try body(&core.model)
    }
  }
}
