extension Dispatch {
  /// Cancels the dispatch, the dispatches that its blocks made, and its followers.
  func cancelWithFollowers() {
    let details = makeDetails()
    details.refuseFollowers()
    cancel()
    details.cancelChildren(withFollowers: true)
  }

  /// Calls back once the dispatch and all of its descendants are over.
  ///
  /// Calls on a thread that ends one of them, or at once if all are over.
  func whenSettled(_ body: @escaping @Sendable () -> Void) {
    if !makeDetails().waitUntilSettled(body) { body() }
  }
}

extension DispatchDetails {
  /// Adds a closure for the end of all descendants; returns whether it will be called.
  func waitUntilSettled(_ waiter: @escaping @Sendable () -> Void) -> Bool {
    withState { state in
      if state.isOver, state.family?.children.isEmpty != false { return false }
      state.family.madeIfNil(DispatchFamily()).waiters.append(waiter)
      return true
    }
  }
}
