import Synchronization

extension Dispatcher {
  /// Dispatches one action: straight through its stores where nothing stands against that.
  @inline(__always)
  func dispatch(
    _ action: any ActionType, to storeIdentifier: String?, mode: Mode, options: DispatchOptions,
    completion: Completion?, callSite: CallSite
  ) -> DispatchHandle {
    let thread = ThreadState.current(by: threadKey)
    if options.after.isEmpty, !carriesTaskLocals,
      !mode.isSync || thread.exclusive == nil,
      let responders = try? responders(
        to: type(of: action), identifier: storeIdentifier, on: thread)
    {
      if responders._withUnsafeGuaranteedRef({ $0.runsStraight(in: mode) }) {
        let dispatch = thread.spareDispatches.pop() ?? Dispatch()
        dispatch.begin(action, to: responders, completion, callSite, on: thread)
        if let refined = dispatch.refinedOrder(on: thread) {
          let request = DispatchRequest(
            storeIdentifier: storeIdentifier, actions: .one(action), mode: mode, options: options,
            completion: completion, callSite: callSite)
          return self.dispatch(request, as: dispatch, refined)
        }
        return mode.isSync ? runHere(dispatch, on: thread) : push(dispatch, mode)
      }
      responders._withUnsafeGuaranteedRef { $0.end() }
    }
    return dispatch(
      DispatchRequest(
        storeIdentifier: storeIdentifier, actions: .one(action), mode: mode, options: options,
        completion: completion, callSite: callSite))
  }

  /// Runs plain reductions on this thread, without a record; nil where it takes more than that.
  ///
  /// - Parameters:
  ///   - action: Its address.
  ///   - record: Makes a copy of it.
  @usableFromInline
  func runLightly(
    _ action: UnsafeRawPointer, of type: ObjectIdentifier, to storeIdentifier: String?,
    _ callSite: (fileID: StaticString, line: UInt), record: () -> any ActionType
  ) -> DispatchHandle? {
    let thread = ThreadState.current(by: threadKey)
    let key = RespondersCache.Key(
      dispatcher: number, actionType: type, storeIdentifier: storeIdentifier)
    guard !carriesTaskLocals, thread.exclusive == nil,
      let given = thread.respondersCache.take(
        key, version: registryVersion.load(ordering: .acquiring))
    else { return nil }
    return given._withUnsafeGuaranteedRef { responders in
      guard responders.isLight else {
        responders.end()
        return nil
      }
      let id = TransactionID.make(on: thread)
      thread.lightTransaction = id.rawValue
      for place in responders.reductions.indices {
        let end = responders.reductions[place].reduce(action, thread)
        if case .done = end { continue }
        thread.lightTransaction = UInt64.max
        return goOn(id, from: place, end, given, callSite, record, on: thread)
      }
      thread.lightTransaction = UInt64.max
      let handle = DispatchHandle(finished: id, responders)
      responders.end()
      return handle
    }
  }

  /// Goes on with a record, where a reduction failed or is to be told of.
  @inline(never)
  private func goOn(
    _ id: TransactionID, from place: Int, _ end: ReducerCalls.Reduction,
    _ responders: Unmanaged<Responders>,
    _ callSite: (fileID: StaticString, line: UInt), _ record: () -> any ActionType,
    on thread: ThreadState
  ) -> DispatchHandle {
    let dispatch = thread.spareDispatches.pop() ?? Dispatch()
    dispatch.begin(
      record(), to: responders, nil, CallSite(fileID: callSite.fileID, line: callSite.line),
      on: thread)
    dispatch.goOn(with: id)
    guard case .failed(let error) = end else { return runHere(dispatch, from: place, on: thread) }
    let outcomes = Array(repeating: StoreOutcome.finished, count: place)
    return runHere(
      dispatch, from: place + 1, after: outcomes + [StoreOutcome(thrown: error)], on: thread)
  }

  /// Runs it on this thread, to its end.
  @inline(__always)
  private func runHere(
    _ begun: consuming Dispatch, from place: Int = 0, after outcomes: [StoreOutcome] = [],
    on thread: ThreadState
  ) -> DispatchHandle {
    var dispatch = begun
    let finished = dispatch.finishedHandle
    switch Dispatch.reachHere(&dispatch, from: place, after: outcomes, on: thread) {
    case .unheard:
      thread.spareDispatches.push(dispatch)
      return finished
    case .told:
      break
    case .goesOn:
      (dispatch.venue as? SyncLoop)?.runToEnd(of: dispatch, on: thread)
    }
    return DispatchHandle(dispatch)
  }

  @inline(__always)
  private func push(_ dispatch: Dispatch, _ mode: Mode) -> DispatchHandle {
    var isTaken = false
    repeat {
      let venue = lane(of: mode) ?? pool
      dispatch.enter(venue)
      isTaken = venue.take(dispatch, of: self)
    } while !isTaken
    return DispatchHandle(dispatch)
  }
}

// What does not run straight: several actions, middlewares, dispatches to be waited for, refined orders.
extension Dispatcher {
  func dispatch(_ request: DispatchRequest) -> DispatchHandle {
    let thread = ThreadState.current
    if request.mode.isSync { checkExclusiveSection(request, on: thread) }
    let dispatch = Dispatch()
    dispatch.begin(request, on: thread)
    dispatch.expand(details(for: request, on: thread))
    return start(dispatch, request, on: thread)
  }

  /// Goes on with a dispatch that was begun, and whose order a reducer has refined.
  private func dispatch(
    _ request: DispatchRequest, as dispatch: Dispatch, _ refined: [WaitFor?]
  ) -> DispatchHandle {
    let thread = ThreadState.current
    dispatch.expand(details(for: request, on: thread))
    dispatch.prepare(refined, of: self)
    return start(dispatch, request, on: thread)
  }

  private func details(for request: DispatchRequest, on thread: ThreadState) -> DispatchDetails {
    DispatchDetails(
      request, by: self, at: request.mode.isSync ? SyncLoop.make(on: thread) : venue(for: request),
      outer: request.mode.isSync ? DispatchContext.blocked(on: thread) : nil)
  }

  private func venue(for request: DispatchRequest) -> Venue {
    // Without an action there is nothing to keep in order.
    request.actions.isEmpty ? freeLane(of: request.mode) : lane(of: request.mode) ?? pool
  }

  private func start(
    _ dispatch: Dispatch, _ request: DispatchRequest, on thread: ThreadState
  ) -> DispatchHandle {
    let before = request.options.after.compactMap(\.dispatch)
    if request.mode.isSync {
      runSynchronously(dispatch, after: before, on: thread)
    } else {
      dispatch.prepare()
      while !dispatch.venue.take(dispatch, of: self) {
        dispatch.details?.venue = venue(for: request)
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
    (dispatch.venue as? SyncLoop)?.run(dispatch, on: thread)
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
