import Foundation

/// The updates through an operation, and its end.
extension ActionOperation {
  /// Ends the block of an inline run, which has returned.
  ///
  /// The operation has ended, or is finished later.
  @usableFromInline
  func endInline(_ requested: StoreOutcome?) -> InlineStep {
    let end = withState { state -> StoreOutcome? in
      let outcome = state.life.returned(requesting: requested)
      if outcome != nil { state.dispatch = nil }
      return outcome
    }
    guard let end else { return .running(self) }
    notifyDependents()
    return InlineStep(end)
  }

  /// Notifies key-value observers, and through them Foundation's dependents, that it has ended.
  func notifyDependents() {
    notifyChange(of: "isExecuting")
    notifyChange(of: "isFinished")
    if withState({ $0.hasDependencies }) {
      stopWatchingAll()
      forgetDependencies()
    }
  }

  /// Notifies key-value observers, and through them the queue that it may be in, that a property has changed.
  ///
  /// Apple's Foundation requires both calls; that of Linux has no observers, and needs the second one alone.
  func notifyChange(of key: String) {
    #if canImport(ObjectiveC)
      willChangeValue(forKey: key)
    #endif
    didChangeValue(forKey: key)
  }

  func finish(_ outcome: StoreOutcome) {
    yieldPoint(.finish, store.identifier)
    switch withState({ $0.life.finish(outcome) }) {
    case .end(let outcome):
      ended(outcome)
    case .later:
      break
    case .repeated:
      store.report(
        .finishedTwice,
        "\(nameInMessages) was finished twice; the second, \(outcome), was ignored.")
    }
  }

  /// Called when the last `RunningOperation` is released: fails the operation unless it was finished.
  @usableFromInline
  func abandon() {
    guard withState({ $0.life.isUnfinished }) else { return }
    let error = DispatchError(
      code: .operationAbandoned,
      message: """
        \(nameInMessages) was released without having been finished by store "\(store.identifier)". \
        Call operation.finish() on every path of its block.
        """,
      storeIdentifiers: [store.identifier])
    let finish = withState { $0.life.finish(.failed(error)) }
    if case .repeated = finish { return }
    store.report(.abandoned, error.message)
    if case .end(let outcome) = finish { ended(outcome) }
  }

  /// The action and its call site, for messages.
  private var nameInMessages: String {
    let callSite = withState { $0.callSite }
    return "The operation for \(action)" + (callSite.map { " (\($0))" } ?? "")
  }

  /// Updates the model through the operation.
  func update<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    yieldPoint(.update, store.identifier)
    let (mayUpdate, owner) = withState { state -> (Bool, (any CommitOwner)?) in
      (state.life.beginUpdate(), state.commitOwner)
    }
    guard mayUpdate else {
      store.report(
        .updateAfterEnd, "\(nameInMessages) had ended when the model was updated through it.")
      return nil
    }
    defer {
      yieldPoint(.endUpdate, store.identifier)
      returned(nil)
    }
    let thread = ThreadState.current
    guard let owner, thread.run?.pointee.isOf(owner) != true, let dispatch = owner.waiting,
      DispatchContext.currentTransaction(on: thread) != owner.dispatchID
    else { return try store.commit(for: owner, action: action, body) }
    // In a callback the operation waits for this thread, and thus for everything that observers wait for here.
    return try dispatch.perform(owner as? StoreRun, on: thread) { () throws(Failure) in
      try store.commit(for: owner, action: action, body)
    }
  }

  /// Notes that the block or an update has returned.
  ///
  /// - Parameter outcome: Counts unless the operation was finished before.
  func returned(_ outcome: StoreOutcome?) {
    if let outcome = withState({ $0.life.returned(requesting: outcome) }) { ended(outcome) }
  }

  func ended(_ outcome: StoreOutcome) {
    let storeRun = withState { state in
      state.task = nil
      return isPlanted(.doubleFinish) ? state.storeRun : state.storeRun.take()
    }
    notifyDependents()
    storeRun?.operationEnded(outcome)
  }
}
