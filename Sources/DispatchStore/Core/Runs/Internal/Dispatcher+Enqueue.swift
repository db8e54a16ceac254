extension Dispatcher {
  /// Runs an action without options on this thread, before this returns.
  ///
  /// - Parameter action: The address of the action, which is copied only if another step needs it.
  @usableFromInline
  func run(
    _ action: UnsafeRawPointer, of type: any ActionType.Type, to storeIdentifier: String?,
    _ completion: Completion?, _ callSite: CallSite
  ) -> DispatchHandle {
    if let defaultAdmission, defaultAdmission.controlsSync {
      return enqueue(
        copyAction(type, at: action), of: type, to: storeIdentifier, mode: .sync,
        options: DispatchOptions(), completion, callSite)
    }
    let thread = ThreadState.current(by: threadKey)
    checkWorld(on: thread, at: callSite)
    if thread.isInSection {
      stopInSection(type, to: storeIdentifier, on: thread, at: callSite)
    }
    let route = route(to: type, identifier: storeIdentifier, on: thread)
    if DispatchContext.isInside(on: thread),
      let error = refusal(of: route, on: thread, at: callSite)
    {
      return makeRefused(along: route, with: error, completion, callSite, on: thread)
    }
    var run = InlineRun(
      action, to: route, of: .passUnretained(self), completion, callSite, on: thread)
    return withUnsafeMutablePointer(to: &run) {
      runHere($0, action, type, to: storeIdentifier, .sync, on: thread)
    }
  }

  /// Prepares an inline run that has no record yet, and runs it.
  @inline(__always)
  func runHere(
    _ run: InlineRun.Address, _ action: UnsafeRawPointer, _ type: any ActionType.Type,
    to storeIdentifier: String?, _ mode: Mode, on thread: ThreadState
  ) -> DispatchHandle {
    let route = run.pointee.route
    if route._withUnsafeGuaranteedRef(\.needsPreparation) {
      let bound = run.prepare(
        copyAction(type, at: action), to: storeIdentifier, in: mode, by: self, on: thread)
      if let bound { return bound.bind { run.runHere(on: thread) } }
    }
    return run.runHere(on: thread)
  }

  /// The error with which a nested `.sync` dispatch is refused; nil for most.
  @inline(never)
  private func refusal(
    of route: Unmanaged<Route>, on thread: ThreadState, at callSite: CallSite
  ) -> (any Error)? {
    if let error = DispatchContext.cancellation(on: thread, at: callSite) { return error }
    // Reductions wait for nothing.
    if route._withUnsafeGuaranteedRef(\.isReduction) { return nil }
    return BlockingRegion.refusal(on: thread, at: callSite)
  }

  /// Enqueues an action at its scheduler.
  ///
  /// A `.sync` dispatch comes here, too, if it has to wait for others.
  ///
  /// - Parameters:
  ///   - action: The action. An autoclosure moves it into the record; an argument would be copied.
  ///   - type: The action's type, which the caller knows.
  @usableFromInline
  func enqueue(
    _ action: @autoclosure () -> any ActionType, of type: any ActionType.Type,
    to storeIdentifier: String?, mode: Mode, options: DispatchOptions, _ completion: Completion?,
    _ callSite: CallSite
  ) -> DispatchHandle {
    let thread = ThreadState.current(by: threadKey)
    checkWorld(on: thread, at: callSite)
    if thread.isInSection {
      if mode.isSync {
        stopInSection(type, to: storeIdentifier, on: thread, at: callSite)
      }
      return makeInSection(
        DispatchSubject(actions: [action()], storeIdentifier: storeIdentifier), mode, options,
        completion, callSite, on: thread)
    }
    defer { yieldPoint(.goOn, on: thread) }
    let route = route(to: type, identifier: storeIdentifier, on: thread)
    return enqueue(
      action(), along: route, to: storeIdentifier, mode, options, completion, callSite, on: thread)
  }

  /// Enqueues an action at its scheduler, along a route.
  @inline(__always)
  func enqueue(
    _ action: @autoclosure () -> any ActionType, along route: Unmanaged<Route>,
    to storeIdentifier: String?, _ mode: Mode, _ options: DispatchOptions,
    _ completion: Completion?, _ callSite: CallSite, on thread: ThreadState
  ) -> DispatchHandle {
    let dispatch = pool.makeDispatch(on: thread)
    setUp(dispatch, to: route, mode, options, completion, callSite, on: thread)
    dispatch.put(action())
    return admit(
      dispatch, DispatchSubject(actions: [action()], storeIdentifier: storeIdentifier),
      isSequence: false,
      to: storeIdentifier, mode, options, on: thread)
  }

  /// Enqueues actions that run one after the other.
  @usableFromInline
  func enqueue(
    _ actions: [any ActionType], to storeIdentifier: String?, mode: Mode, options: DispatchOptions,
    _ completion: Completion?, _ callSite: CallSite
  ) -> DispatchHandle {
    let thread = ThreadState.current
    checkWorld(on: thread, at: callSite)
    let subject = DispatchSubject(
      actions: actions, storeIdentifier: storeIdentifier, isSequence: true,
      continuesOnFailure: options.continuesOnFailure)
    var options = options
    options.control = options.control?.ofList(actions)
    if thread.isInSection {
      if mode.isSync, let first = actions.first {
        stopInSection(type(of: first), to: storeIdentifier, on: thread, at: callSite)
      }
      return makeInSection(subject, mode, options, completion, callSite, on: thread)
    }
    defer { yieldPoint(.goOn, on: thread) }
    let dispatch = pool.makeDispatch(on: thread)
    let acceptance = route(to: WorkAcceptance.self, identifier: nil, on: thread)
    setUp(dispatch, to: acceptance, mode, options, completion, callSite, on: thread)
    return admit(
      dispatch, subject, isSequence: true, to: storeIdentifier, mode, options, on: thread)
  }

  /// Enqueues a new dispatch, or runs it here, once it is admitted.
  @inline(__always)
  private func admit(
    _ dispatch: Dispatch, _ subject: @autoclosure () -> DispatchSubject, isSequence: Bool,
    to storeIdentifier: String?, _ mode: Mode, _ options: DispatchOptions, on thread: ThreadState
  ) -> DispatchHandle {
    if let error = dispatch.refusalOfRoute {
      options.control?.giveBack()
      return endUnadmitted(dispatch, with: error, mode)
    }
    let admitted: AdmittedDispatch?
    do {
      if mode.isSync,
        let error = BlockingRegion.refusal(on: thread, at: dispatch.callSite)
      {
        throw error
      }
      admitted = try admit(dispatch, options, mode, on: thread)
    } catch {
      return endUnadmitted(dispatch, with: error, mode)
    }
    if let admitted, let delay = admitted.delay {
      delay.begin(admitted, subject(), by: self, in: nil, on: thread)
      return DispatchHandle(dispatch)
    }
    if isSequence { takeUp(dispatch, subject(), mode, on: thread) }
    if mode.isSync {
      runBlocking(dispatch, admitted, to: storeIdentifier, on: thread)
    } else {
      schedule(dispatch, admitted, to: storeIdentifier, mode, on: thread)
    }
    return DispatchHandle(dispatch)
  }

  /// Sets up the record of a dispatch that this thread makes.
  func setUp(
    _ dispatch: Dispatch, to route: Unmanaged<Route>?, _ mode: Mode, _ options: DispatchOptions,
    _ completion: Completion?, _ callSite: CallSite, on thread: ThreadState
  ) {
    dispatch.setUp(
      .make(on: thread), parent: DispatchContext.currentTransaction(on: thread), to: route,
      completion, callSite)
    if !options.after.isEmpty { dispatch.wait(for: options.unended) }
    if carriesTaskLocals { dispatch.carried = captureTaskLocals() }
    note(dispatch, mode, on: thread)
  }

  /// Prepares a queued dispatch before its stores or actions, which keeps the results it needs.
  func prepare(
    _ dispatch: Dispatch, to storeIdentifier: String?, in mode: Mode, on thread: ThreadState
  ) {
    if dispatch.needsPreparation {
      callHooks(of: dispatch, to: storeIdentifier, in: mode, on: thread)
    }
  }

  @inline(never)
  private func callHooks(
    of dispatch: Dispatch, to storeIdentifier: String?, in mode: Mode, on thread: ThreadState
  ) {
    let action: any ActionType = dispatch.actionBeforeStart ?? MiddlewareSession.NoAction()
    withAddress(of: action) { address in
      var run = InlineRun(of: dispatch, address, on: thread)
      withUnsafeMutablePointer(to: &run) {
        $0.prepare(dispatch, action, to: storeIdentifier, in: mode, by: self, on: thread)
      }
    }
  }

  @inline(__always)
  private func schedule(
    _ dispatch: Dispatch, _ admitted: AdmittedDispatch?, to storeIdentifier: String?, _ mode: Mode,
    on thread: ThreadState
  ) {
    guard var admitted else {
      schedule(dispatch, to: storeIdentifier, mode, on: thread)
      return
    }
    admitted.announce(by: self)
    // A dispatch that was cancelled meanwhile is skipped by its lane, which may have been removed since.
    withExtendedLifetime(schedule(dispatch, to: storeIdentifier, mode, on: thread)) {
      admitted.enter(by: self)
    }
  }

  /// Enqueues a dispatch at its scheduler.
  ///
  /// - Returns: The scheduler, which may no longer exist once the dispatch has left it.
  @discardableResult
  func schedule(
    _ dispatch: Dispatch, to storeIdentifier: String?, _ mode: Mode, on thread: ThreadState
  ) -> Scheduler {
    // An empty dispatch has no action, so that order does not matter.
    let isEmpty = dispatch.isEmpty
    let scheduler = isEmpty ? freeScheduler(of: mode) : self.scheduler(of: mode)
    dispatch.enter(scheduler)
    let details = dispatch.details
    // A scheduler of its own is retained by nothing else while the dispatch is parked.
    let isKnown = details?.scheduler != nil
    if isEmpty || isKnown { dispatch.makeDetails().scheduler = scheduler }
    // The dispatcher and its pool are not retained either while a dispatch waits for others.
    let (before, gateHoldsBack) = dispatch.obstacles
    if gateHoldsBack || !before.isEmpty { details?.dispatcher = self }
    prepare(dispatch, to: storeIdentifier, in: mode, on: thread)
    return schedule(dispatch, at: scheduler) {
      let other = self.scheduler(of: mode)
      // Before the removed lane is released: other threads reach the dispatch's scheduler by the dispatch.
      dispatch.move(to: other)
      if isKnown { details?.scheduler = other }
      return other
    }
  }

  /// Enqueues a dispatch at a scheduler.
  ///
  /// If that is a named lane that was removed since it was looked up, it is enqueued at another one.
  @inline(__always)
  @discardableResult
  func schedule(
    _ dispatch: Dispatch, at scheduler: Scheduler, orAt other: () -> Scheduler
  ) -> Scheduler {
    var scheduler = scheduler
    let (before, gateHoldsBack) = dispatch.obstacles
    let hasPriority = dispatch.details?.priority != nil
    while true {
      if hasPriority { scheduler.expectPriority() }
      if gateHoldsBack || !before.isEmpty { scheduler.noteHeldBack(dispatch) }
      if scheduler.schedule(dispatch, for: self) { break }
      scheduler = other()
    }
    if !before.isEmpty { dispatch.resume(after: before) }
    return scheduler
  }

  /// Runs a `.sync` dispatch that waits for others, has admission control, or is a sequence.
  private func runBlocking(
    _ dispatch: Dispatch, _ admitted: AdmittedDispatch?, to storeIdentifier: String?,
    on thread: ThreadState
  ) {
    let (before, gateHoldsBack) = dispatch.obstacles
    // The record may have been used elsewhere before.
    dispatch.leaveScheduler()
    let details = dispatch.makeDetails()
    let loop = details.scheduler as? SyncLoop ?? SyncLoop(on: thread, of: self)
    details.scheduler = loop
    // The gate may open only after other dispatches on this dispatcher's queue have run.
    if gateHoldsBack { details.dispatcher = self }
    dispatch.outer = DispatchContext.blocked(on: thread)
    var wait: WaitGraph.Wait?
    defer { if let wait { WaitGraph.end(wait) } }
    if gateHoldsBack || !before.isEmpty {
      do {
        wait = try WaitGraph.begin(dispatch)
      } catch {
        return dispatch.fail(with: error)
      }
    }
    prepare(dispatch, to: storeIdentifier, in: .sync, on: thread)
    dispatch.resume(after: before)
    if let admitted { admitted.enter(by: self, startsHere: true) }
    loop.run(dispatch, on: thread)
  }

  /// Stops the program: a dispatch that blocks is made in an exclusive section.
  private func stopInSection(
    _ type: any ActionType.Type, to storeIdentifier: String?, on thread: ThreadState,
    at callSite: CallSite
  ) {
    ExclusiveSection.checkSynchronousDispatch(
      of: type,
      to: storeIdentifier.map { [$0] }
        ?? registry.withLock { $0.responders(to: type) }.map(\.identifier),
      on: thread, at: callSite)
  }
}
