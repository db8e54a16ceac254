extension InlineRun.Address {
  /// Prepares the run on the dispatching thread, before the stores: refines their order, and calls middlewares.
  ///
  /// - Returns: The task-local values to bind, if middlewares have bound some.
  func prepare(
    _ action: @autoclosure () -> any ActionType, to storeIdentifier: String?,
    in mode: Dispatcher.Mode, by dispatcher: Dispatcher, on thread: ThreadState
  ) -> CapturedTaskLocal? {
    let outer = thread.run
    thread.run = self
    defer { thread.run = outer }
    let action = action()
    let startsAtOnce = pointee.record == nil
    var bound: CapturedTaskLocal?
    let chain = pointee.route._withUnsafeGuaranteedRef(\.chainForHooks)
    if let chain {
      let record = pointee.record?.takeUnretainedValue()
      let session = MiddlewareSession.begin(
        action, listed: record?.sequence?.actions, chain, pointee.dispatchID,
        parent: parent(on: thread), isStep: record?.isStep == true, mode, pointee.callSite,
        by: dispatcher, on: thread)
      pointee.session = session
      if session._withUnsafeGuaranteedRef(\.followsStores) { pointee.followsStores = true }
      if session._withUnsafeGuaranteedRef(\.hasWholes) {
        bound = callWholeHooks(of: session, by: dispatcher, on: thread)
      }
    }
    CapturedTaskLocal.bind(bound) {
      prepareStores(action, to: storeIdentifier, startsAtOnce, by: dispatcher)
    }
    return bound
  }

  private func prepareStores(
    _ action: any ActionType, to storeIdentifier: String?, _ startsAtOnce: Bool,
    by dispatcher: Dispatcher
  ) {
    if pointee.route._withUnsafeGuaranteedRef(\.mayChange) {
      refineRoute(for: action, to: storeIdentifier, by: dispatcher)
    }
    pointee.session?._withUnsafeGuaranteedRef { session in
      pointee.route._withUnsafeGuaranteedRef {
        session.willDispatch(action, along: $0, startsAtOnce: startsAtOnce)
      }
    }
  }

  /// Calls the hooks of the whole dispatch, and lets other threads watch it.
  ///
  /// - Returns: The task-local values to bind, if the hooks have bound some.
  @inline(never)
  private func callWholeHooks(
    of session: Unmanaged<MiddlewareSession>, by dispatcher: Dispatcher, on thread: ThreadState
  ) -> CapturedTaskLocal? {
    let bound = session._withUnsafeGuaranteedRef {
      if $0.isWatched { $0.watch(pointee.makeRecord(on: thread)) }
      return $0.dispatchBegan()
    }
    if bound.isEmpty { return nil }
    let record = pointee.makeRecord(on: thread)
    record.bind(bound, by: dispatcher)
    return record.bound
  }

  /// Prepares a queued dispatch, or a sequence, which keeps the session.
  func prepare(
    _ record: Dispatch, _ action: any ActionType, to storeIdentifier: String?,
    in mode: Dispatcher.Mode, by dispatcher: Dispatcher, on thread: ThreadState
  ) {
    // A `.sync` dispatch knows its caller. After a delay, its own context is around its hooks, too.
    let isWithCaller = mode.isSync && !record.isStep
    let outer = isWithCaller ? record.outer : DispatchContext.enclosing(thread.run, on: thread)
    record.outer = isPlanted(.hookOutside) ? nil : outer
    _ = prepare(action, to: storeIdentifier, in: mode, by: dispatcher, on: thread)
    // That code is not around the stores, which run elsewhere; only a `.sync` caller waits for them, and for its turn
    // before.
    if !mode.isSync { record.outer = nil }
    if let session = pointee.session.take() {
      session._withUnsafeGuaranteedRef { $0.keepAlive() }
      record.session = session.takeRetainedValue()
    }
  }

  private func parent(on thread: ThreadState) -> DispatchID? {
    if let record = pointee.record { return record.takeUnretainedValue().parent }
    return DispatchContext.dispatchID(of: pointee.outer, on: thread)
  }

  /// Leaves out weakly held stores that are gone, and takes the order that reducers ask for.
  private func refineRoute(
    for action: any ActionType, to storeIdentifier: String?, by dispatcher: Dispatcher
  ) {
    var route = pointee.route.takeUnretainedValue()
    if route.hasWeakStores, dispatcher.unregisterGone(route.registered) {
      // Not routed anew: stores and followers that have come or gone meanwhile are none of this dispatch's.
      replaceRoute(
        by: .passUnretained(
          route.withoutGoneStores(failure: storeIdentifier.map(dispatcher.unknownStore))))
      route = pointee.route.takeUnretainedValue()
    }
    if let refined = route.refined(for: action, wasRegistered: dispatcher.wasRegistered) {
      replaceRoute(by: .passUnretained(refined.route))
      dispatcher.reportAbsent(refined.absent, for: action)
    }
  }

  private func replaceRoute(by route: Unmanaged<Route>) {
    let former = pointee.route
    pointee.session?._withUnsafeGuaranteedRef { $0.keepAlive() }
    pointee.route = route
    pointee.record?._withUnsafeGuaranteedRef { $0.route = route }
    former._withUnsafeGuaranteedRef { $0.end() }
  }
}
