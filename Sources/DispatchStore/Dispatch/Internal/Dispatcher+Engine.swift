import Synchronization

extension Dispatcher {
  /// Dispatches an action that need not run on this thread.
  @usableFromInline
  func enqueue(
    _ action: __owned any ActionType, to storeIdentifier: String?, mode: Mode,
    options: DispatchOptions, _ completion: Completion?, _ fileID: StaticString, _ line: UInt
  ) -> DispatchHandle {
    let thread = ThreadState.current(by: threadKey)
    let callSite = CallSite(fileID: fileID, line: line)
    checkWorld(on: thread, at: callSite)
    if options.after.isEmpty, !carriesTaskLocals, !mode.isSync,
      let given = try? responders(to: type(of: action), identifier: storeIdentifier, on: thread)
    {
      if given._withUnsafeGuaranteedRef({ $0.runsStraight(in: mode) }) {
        let dispatch = pool.makeDispatch(on: thread)
        dispatch.begin(to: given, completion, callSite, on: thread)
        dispatch.put(action)
        note(dispatch, mode, on: thread)
        return push(dispatch, mode, on: thread)
      }
      given._withUnsafeGuaranteedRef { $0.end() }
    }
    return dispatch(
      DispatchRequest(
        storeIdentifier: storeIdentifier, actions: .one(action), mode: mode, options: options,
        completion: completion, callSite: callSite))
  }

  @inline(__always)
  private func push(
    _ dispatch: Dispatch, _ mode: Mode, on thread: ThreadState
  ) -> DispatchHandle {
    var scheduler = lane(of: mode) ?? pool
    dispatch.enter(scheduler)
    if dispatch.isHeard { dispatch.tellMiddlewares(by: self, in: mode, on: thread) }
    while !scheduler.schedule(dispatch, for: self) {
      scheduler = lane(of: mode) ?? pool
      dispatch.enter(scheduler)
      dispatch.details?.scheduler = scheduler
    }
    return DispatchHandle(dispatch)
  }
}

// What does not run straight: several actions, dispatches to be waited for, refined orders, stores held
// weakly, and the first dispatch of its type on a thread.
extension Dispatcher {
  func dispatch(_ request: DispatchRequest) -> DispatchHandle {
    let thread = ThreadState.current
    if request.mode.isSync { checkExclusiveSection(request, on: thread) }
    let dispatch = Dispatch()
    dispatch.begin(request, on: thread)
    dispatch.expand(details(for: request, on: thread))
    note(dispatch, request.mode, on: thread)
    return start(dispatch, request, on: thread)
  }

  private func details(for request: DispatchRequest, on thread: ThreadState) -> DispatchDetails {
    DispatchDetails(
      request, by: self,
      at: request.mode.isSync ? SyncLoop.make(on: thread) : scheduler(for: request),
      outer: request.mode.isSync ? DispatchContext.blocked(on: thread) : nil)
  }

  private func scheduler(for request: DispatchRequest) -> Scheduler {
    // Without an action there is nothing to keep in order.
    request.actions.isEmpty ? freeLane(of: request.mode) : lane(of: request.mode) ?? pool
  }

  private func start(
    _ dispatch: Dispatch, _ request: DispatchRequest, on thread: ThreadState
  ) -> DispatchHandle {
    let before = request.options.after.compactMap(\.dispatch)
    if isWitnessed.load(ordering: .acquiring) {
      dispatch.tellBegin(of: request, to: registry.withLock { $0.witnesses })
    }
    if request.mode.isSync {
      runSynchronously(dispatch, after: before, on: thread)
    } else {
      dispatch.prepare()
      while !dispatch.scheduler.schedule(dispatch, for: self) {
        dispatch.details?.scheduler = scheduler(for: request)
      }
      dispatch.await(before)
    }
    return DispatchHandle(dispatch)
  }

  private func runSynchronously(
    _ dispatch: Dispatch, after dispatches: [Dispatch], on thread: ThreadState
  ) {
    var wait: WaitGraph.Wait?
    defer { if let wait { WaitGraph.end(wait) } }
    if !dispatches.isEmpty {
      do {
        wait = try WaitGraph.begin(dispatch)
      } catch {
        return dispatch.fail(with: error)
      }
    }
    dispatch.prepare()
    dispatch.await(dispatches)
    (dispatch.scheduler as? SyncLoop)?.run(dispatch, on: thread)
  }

  private func checkExclusiveSection(_ request: DispatchRequest, on thread: ThreadState) {
    guard thread.exclusive != nil, let action = request.actions.first else { return }
    let type = type(of: action)
    ExclusiveSection.checkSynchronousDispatch(
      of: type,
      to: request.storeIdentifier.map { [$0] }
        ?? registry.withLock { $0.responders(to: type) }.map(\.identifier),
      on: thread, at: request.callSite)
  }

  /// Ends a dispatch that can't run: its completion runs here, with the error.
  func refuse(_ request: DispatchRequest, with error: DispatchError) -> DispatchHandle {
    let dispatch = Dispatch()
    dispatch.begin(request, on: .current)
    dispatch.expand(DispatchDetails(request, by: self, at: SyncLoop(), outer: nil))
    dispatch.fail(with: error)
    return DispatchHandle(dispatch)
  }
}
