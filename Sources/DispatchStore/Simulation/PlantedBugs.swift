// Bodies of planted bugs that are longer than a condition at the engine's own code.

extension Lane {
  /// Plants `lostStep`: requests the drainer before it enqueues the step.
  func resumeAfterRequest(_ step: @escaping @Sendable () -> Void) {
    requestDrainer()
    yieldPoint(.resume, description)
    state.withLock { $0.resume(step) }
  }

  /// Plants `lostWakeUp`: looks for a push, then leaves even if there was another one meanwhile.
  func leaveInTwoSteps(as activity: LaneWord.Activity) -> Bool {
    if activity == .retired || hasPush { return word.change { $0.leaving(as: activity) } != nil }
    yieldPoint(.leave, description)
    return word.change { LaneWord($0.top, activity) } != nil
  }
}

extension LaneSet {
  /// Plants `enteredOneByOne`: closes and opens each lane by itself.
  func enterOneByOne(
    _ lanes: [Lane], _ entries: [Dispatch], for dispatcher: Dispatcher, _ needDrainers: inout [Int]
  ) -> Bool {
    begin(entries)
    for (index, lane) in lanes.enumerated() {
      yieldPoint(.push, lane.description)
      var needsDrainer = false
      let hasEntered = lane.enter(
        entries[index], of: entries[0], for: dispatcher, needsDrainer: &needsDrainer,
        with: { true })
      guard hasEntered else { return false }
      if needsDrainer { needDrainers.append(index) }
    }
    return true
  }
}

extension DispatchFIFO {
  /// Plants `laneOrder`: links the dispatches in reverse order.
  static func reversed(_ top: Unmanaged<Dispatch>?) -> Unmanaged<Dispatch>? {
    linked(from: top).reduce(nil) { before, dispatch in
      dispatch.next = before
      return .passUnretained(dispatch)
    }
  }
}

extension Dispatch {
  /// Plants `forgottenWaiter`: checks for the end of the dispatch, then waits, in two steps.
  func forgetWaiter(_ waiter: @escaping @Sendable () -> Void) {
    if result != nil { return waiter() }
    yieldPoint(.await, id.description)
    _ = makeDetails().wait(Waiter(waiter))
  }
}

extension Dispatcher {
  /// Plants `lateCopy`: looks a route up, then copies it for the thread, in two steps.
  func copyLate(
    _ key: RouteKey, _ type: any ActionType.Type, on thread: ThreadState
  ) -> Unmanaged<Route>? {
    guard let shared = registry.withLock({ $0.route(for: key, type) }) else { return nil }
    yieldPoint(.lookUp, on: thread)
    let (copy, evicted) = registry.withLock { _ in thread.routeCache.take(shared, turn: 0) }
    evicted?.retire()
    return copy
  }
}

extension Dispatcher {
  /// Plants `lateEviction`: changes the registry, then evicts the affected routes, in two steps.
  func changeThenEvict<Result>(
    _ transition: Transition, _ body: (inout Registry) -> Result
  ) -> Result {
    let (result, removed) = registry.withLock { (body(&$0), $0.routes.takeRemoved()) }
    yieldPoint(transition)
    for route in RouteCache.evict(removed) { route.retire() }
    return result
  }
}

extension AtomicStep {
  /// Plants `sectionLeftEarly`: leaves the section of a store, and enters it again for the commit or undo.
  ///
  /// Only the store that was locked last, so that it does not deadlock.
  static func leaveEarly(
    _ storage: StoreStorage, _ members: [Member], on thread: ThreadState
  ) {
    guard members.allSatisfy({ $0.storage.lockRank <= storage.lockRank }) else { return }
    storage.lock.unlock()
    yieldPoint(.commit, on: thread, storage.identifier)
    storage.lock.lock()
  }
}
