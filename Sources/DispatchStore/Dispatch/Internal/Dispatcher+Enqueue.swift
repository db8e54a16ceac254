extension Dispatcher {
  /// Runs an action on this thread, before this returns.
  ///
  /// - Parameter action: The action's address: it is copied only where others go on with it.
  @usableFromInline
  func run(
    _ action: UnsafeRawPointer, of type: any ActionType.Type, to storeIdentifier: String?,
    _ completion: Completion?, _ fileID: StaticString, _ line: UInt
  ) -> DispatchHandle {
    let thread = ThreadState.current(by: threadKey)
    let callSite = CallSite(fileID: fileID, line: line)
    checkWorld(on: thread, at: callSite)
    if thread.exclusive != nil {
      refuseInExclusiveSection(type, to: storeIdentifier, on: thread, at: callSite)
    }
    let route = route(to: type, identifier: storeIdentifier, on: thread)
    return run(
      action, of: type, along: route, to: storeIdentifier, completion, callSite, on: thread)
  }

  /// The same along a route that the caller has taken.
  @inline(__always)
  func run(
    _ action: UnsafeRawPointer, of type: any ActionType.Type, along route: Unmanaged<Route>,
    to storeIdentifier: String?, _ completion: Completion?, _ callSite: CallSite,
    on thread: ThreadState
  ) -> DispatchHandle {
    InlineRun.withMemory { run in
      run.initialize(
        to: InlineRun(
          action, to: route, of: .passUnretained(self), completion, callSite, on: thread))
      if route._withUnsafeGuaranteedRef(\.needsPreparation) {
        run.prepare(
          copyAction(type, at: action), to: storeIdentifier, in: .sync, by: self, on: thread)
      }
      return run.runHere(on: thread)
    }
  }

  /// Queues an action at its scheduler; one that has to wait for others may be `.sync`.
  @usableFromInline
  func enqueue(
    _ action: __owned any ActionType, to storeIdentifier: String?, mode: Mode,
    options: DispatchOptions, _ completion: Completion?, _ fileID: StaticString, _ line: UInt
  ) -> DispatchHandle {
    let thread = ThreadState.current(by: threadKey)
    let callSite = CallSite(fileID: fileID, line: line)
    checkWorld(on: thread, at: callSite)
    if thread.exclusive != nil {
      if mode.isSync {
        refuseInExclusiveSection(type(of: action), to: storeIdentifier, on: thread, at: callSite)
      }
      return makeInSection(mode, options, completion, callSite, on: thread) { [self] dispatch in
        dispatch.keep(self.route(to: type(of: action), identifier: storeIdentifier, on: thread))
        dispatch.put(action)
        return schedule(dispatch, mode) {
          self.prepare(dispatch, action, to: storeIdentifier, in: mode, on: thread)
        }
      }
    }
    let route = route(to: type(of: action), identifier: storeIdentifier, on: thread)
    let dispatch = pool.makeDispatch(on: thread)
    begin(dispatch, to: route, mode, options, completion, callSite, on: thread)
    dispatch.put(action)
    func prepare() {
      self.prepare(dispatch, action, to: storeIdentifier, in: mode, on: thread)
    }
    if mode.isSync {
      runBlocking(dispatch, on: thread, prepare)
    } else {
      schedule(dispatch, mode, prepare)
    }
    return DispatchHandle(dispatch)
  }

  /// Queues actions that run one after the other.
  @usableFromInline
  func enqueue(
    _ actions: [any ActionType], to storeIdentifier: String?, mode: Mode, options: DispatchOptions,
    _ completion: Completion?, _ fileID: StaticString, _ line: UInt
  ) -> DispatchHandle {
    let thread = ThreadState.current
    let callSite = CallSite(fileID: fileID, line: line)
    func makeSequence(of dispatch: Dispatch) {
      let middlewares = registry.withLock(\.middlewares)
      let sequence = DispatchSequence(
        of: actions, to: storeIdentifier, in: mode, continuesOnFailure: options.continuesOnFailure,
        by: self, middlewares.isEmpty ? [] : MiddlewareChain(middlewares).wholes)
      dispatch.put(sequence)
      sequence.dispatchBegan(dispatch)
    }
    if thread.exclusive != nil {
      if mode.isSync, let first = actions.first {
        refuseInExclusiveSection(type(of: first), to: storeIdentifier, on: thread, at: callSite)
      }
      return makeInSection(mode, options, completion, callSite, on: thread) { [self] dispatch in
        makeSequence(of: dispatch)
        return schedule(dispatch, mode) {}
      }
    }
    let dispatch = pool.makeDispatch(on: thread)
    begin(dispatch, to: nil, mode, options, completion, callSite, on: thread)
    makeSequence(of: dispatch)
    if mode.isSync {
      runBlocking(dispatch, on: thread) {}
    } else {
      schedule(dispatch, mode) {}
    }
    return DispatchHandle(dispatch)
  }

  func begin(
    _ dispatch: Dispatch, to route: Unmanaged<Route>?, _ mode: Mode, _ options: DispatchOptions,
    _ completion: Completion?, _ callSite: CallSite, on thread: ThreadState
  ) {
    dispatch.begin(
      .make(on: thread), parent: DispatchContext.currentTransaction(on: thread), to: route,
      completion, callSite)
    if !options.after.isEmpty { dispatch.wait(for: options.unended) }
    if carriesTaskLocals { dispatch.carry(captureTaskLocals()) }
    note(dispatch, mode, on: thread)
  }

  /// Does what comes before the stores of a queued dispatch, which keeps what it needs of that.
  func prepare(
    _ dispatch: Dispatch, _ action: any ActionType, to storeIdentifier: String?, in mode: Mode,
    on thread: ThreadState
  ) {
    guard dispatch.route!._withUnsafeGuaranteedRef(\.needsPreparation) else { return }
    withAddress(of: action) { address in
      var run = InlineRun(of: dispatch, address, on: thread)
      withUnsafeMutablePointer(to: &run) {
        $0.prepare(dispatch, action, to: storeIdentifier, in: mode, by: self, on: thread)
      }
    }
  }

  /// - Returns: The scheduler, which may not exist any more once the dispatch has left it.
  @discardableResult
  private func schedule(
    _ dispatch: Dispatch, _ mode: Mode, _ prepare: () -> Void
  ) -> Scheduler {
    let before = dispatch.dispatchesBefore
    // Without an action there is nothing to keep in order.
    let isEmpty = dispatch.isEmpty
    let scheduler = isEmpty ? freeScheduler(of: mode) : self.scheduler(of: mode)
    dispatch.enter(scheduler)
    // A scheduler of its own is kept by nothing else while the dispatch is parked there.
    if isEmpty { dispatch.makeDetails().scheduler = scheduler }
    // Nor is the dispatcher, with its pool, while a dispatch waits for others.
    if !before.isEmpty { dispatch.details?.dispatcher = self }
    prepare()
    return schedule(dispatch, at: scheduler, after: before) {
      let other = self.scheduler(of: mode)
      dispatch.enter(other)
      return other
    }
  }

  /// Leaves a dispatch to a scheduler; to another one where that is a named lane which has run empty, and retired,
  /// since it was looked up.
  @inline(__always)
  @discardableResult
  func schedule(
    _ dispatch: Dispatch, at scheduler: Scheduler, after before: [Dispatch],
    orAt other: () -> Scheduler
  ) -> Scheduler {
    var scheduler = scheduler
    while true {
      if !before.isEmpty { scheduler.noteHeldBack(dispatch, by: before) }
      if scheduler.schedule(dispatch, for: self) { break }
      scheduler = other()
    }
    if !before.isEmpty { dispatch.resume(after: before) }
    return scheduler
  }

  /// Runs a `.sync` dispatch that waits for others first, or that is a sequence.
  private func runBlocking(
    _ dispatch: Dispatch, on thread: ThreadState, _ prepare: () -> Void
  ) {
    let before = dispatch.dispatchesBefore
    // The record may have been used before, elsewhere.
    dispatch.leaveScheduler()
    let loop = SyncLoop.make(on: thread)
    dispatch.makeDetails().scheduler = loop
    dispatch.keep(outer: DispatchContext.blocked(on: thread))
    var wait: WaitGraph.Wait?
    defer { if let wait { WaitGraph.end(wait) } }
    if !before.isEmpty {
      do {
        wait = try WaitGraph.begin(dispatch)
      } catch {
        return dispatch.fail(with: error)
      }
    }
    prepare()
    dispatch.resume(after: before)
    loop.run(dispatch, on: thread)
  }

  private func refuseInExclusiveSection(
    _ type: any ActionType.Type, to storeIdentifier: String?, on thread: ThreadState,
    at callSite: CallSite
  ) {
    ExclusiveSection.checkSynchronousDispatch(
      of: type,
      to: storeIdentifier.map { [$0] }
        ?? registry.withLock { $0.responders(to: type) }.map(\.identifier),
      on: thread, at: callSite)
  }

  /// Ends a dispatch that can't run: its completion runs here, with the error.
  func refuse(
    _ error: DispatchError, _ completion: Completion?, _ callSite: CallSite
  ) -> DispatchHandle {
    let thread = ThreadState.current
    if thread.exclusive != nil {
      return refuseInSection(error, completion, callSite, on: thread)
    }
    let dispatch = Dispatch()
    begin(dispatch, to: nil, .sync, DispatchOptions(), completion, callSite, on: thread)
    dispatch.fail(with: error)
    return DispatchHandle(dispatch)
  }
}
