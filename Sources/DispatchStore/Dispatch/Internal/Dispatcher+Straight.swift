// The way of a `.sync` dispatch straight through its stores, on the caller's thread: without a record, as
// long as nobody asks for one; else with one, which comes along or is made on the way.
extension Dispatcher {
  /// Runs an action straight through its stores, on this thread; nil where that is not to be done.
  ///
  /// - Parameter action: The action's address: it is copied only where others go on with it.
  @usableFromInline
  func run(
    _ action: UnsafeRawPointer, of type: ObjectIdentifier, to storeIdentifier: String?,
    _ completion: Completion?, _ fileID: StaticString, _ line: UInt
  ) -> DispatchHandle? {
    let thread = ThreadState.current(by: threadKey)
    checkWorld(on: thread, at: CallSite(fileID: fileID, line: line))
    guard !carriesTaskLocals, thread.exclusive == nil,
      let given = knownRoute(noteKey(type, storeIdentifier), on: thread)
    else { return nil }
    return given._withUnsafeGuaranteedRef { responders in
      guard responders.isStraight else {
        responders.end()
        return nil
      }
      var (place, outcome): (Int, StoreOutcome?) = (0, nil)
      let id = TransactionID.make(on: thread)
      if completion == nil, responders.isLight {
        (place, outcome) = reduce(action, through: responders, as: id, on: thread)
        if place == responders.count, outcome == nil { return end(id, of: responders) }
        if outcome == nil, responders.applies(at: place) {
          return apply(
            action, to: given, from: place, as: id, CallSite(fileID: fileID, line: line),
            on: thread)
        }
      }
      let dispatch = makeRecord(
        to: given, as: id, CallSite(fileID: fileID, line: line), then: completion, on: thread)
      if responders.isHeard { return runHeard(dispatch, at: action, on: thread) }
      return runHere(dispatch, at: action, from: place, after: outcome, on: thread)
    }
  }

  /// All stores have finished.
  @inline(__always)
  private func end(_ id: TransactionID, of responders: Route) -> DispatchHandle {
    let handle = DispatchHandle(finished: id, responders)
    responders.end()
    return handle
  }

  /// Runs plain reductions without a record, up to the first store that does more; how far it came, where
  /// one failed or is to be told of.
  @inline(__always)
  private func reduce(
    _ action: UnsafeRawPointer, through responders: Route, as id: TransactionID,
    on thread: ThreadState
  ) -> (place: Int, outcome: StoreOutcome?) {
    let outer = thread.light
    thread.light = ThreadState.Light(transaction: id.rawValue)
    defer { thread.light = outer }
    for place in 0..<responders.reductionCount {
      switch responders.reduce(action, at: place, on: thread) {
      case .done: continue
      case .observed: return (place, nil)
      case .failed(let error): return (place + 1, .of(thrown: error))
      }
    }
    return (responders.reductionCount, nil)
  }

  /// Goes on without a record where a store applies the action.
  @inline(never)
  private func apply(
    _ action: UnsafeRawPointer, to given: Unmanaged<Route>, from place: Int,
    as id: TransactionID, _ callSite: CallSite, on thread: ThreadState
  ) -> DispatchHandle {
    var run = LightRun(id, to: given, action, callSite, of: self, on: thread)
    switch given._withUnsafeGuaranteedRef({ run.run(through: $0, from: place, on: thread) }) {
    case .finished:
      return given._withUnsafeGuaranteedRef { end(id, of: $0) }
    case .recorded(let dispatch, let place, let step):
      return goOn(with: dispatch, after: step, at: place, of: run, at: action, on: thread)
    case .leaves(let place, let outcome):
      let dispatch = makeRecord(to: given, as: id, callSite, on: thread)
      return runHere(dispatch, at: action, from: place, after: outcome, on: thread)
    }
  }

  /// The record of a `.sync` dispatch.
  func makeRecord(
    to given: Unmanaged<Route>, as id: TransactionID, _ callSite: CallSite,
    then completion: Completion? = nil, on thread: ThreadState
  ) -> Dispatch {
    let dispatch = thread.spareDispatches.pop() ?? Dispatch()
    dispatch.begin(to: given, completion, callSite, on: thread, as: id)
    note(dispatch, .sync, on: thread)
    return dispatch
  }

  /// Goes on with the record of a light run, which was made on the way.
  private func goOn(
    with made: consuming Dispatch, after step: StraightStep, at place: Int, of run: LightRun,
    at action: UnsafeRawPointer, on thread: ThreadState
  ) -> DispatchHandle {
    var dispatch = made
    let finished = dispatch.finishedHandle
    let end = Dispatch.runStraight(
      &dispatch, after: step, at: place, of: run, at: action, on: thread)
    return handle(of: dispatch, finished, after: end, on: thread)
  }

  /// Runs it on this thread, to its end.
  ///
  /// - Parameters:
  ///   - place: The store to go on with.
  ///   - outcome: That of the store before, where it did not finish.
  private func runHere(
    _ begun: consuming Dispatch, at action: UnsafeRawPointer, from place: Int,
    after outcome: StoreOutcome?, on thread: ThreadState
  ) -> DispatchHandle {
    var dispatch = begun
    dispatch.beginHere(on: thread)
    let finished = dispatch.finishedHandle
    var outcomes: [StoreOutcome] = []
    if let outcome {
      outcomes = dispatch.allFinished
      outcomes[place - 1] = outcome
    }
    let end = Dispatch.runStraight(
      &dispatch, at: action, from: place, after: outcomes, on: thread)
    return handle(of: dispatch, finished, after: end, on: thread)
  }

  /// The same where there are middlewares.
  @inline(never)
  private func runHeard(
    _ begun: consuming Dispatch, at action: UnsafeRawPointer, on thread: ThreadState
  ) -> DispatchHandle {
    var dispatch = begun
    dispatch.beginHere(on: thread)
    let finished = dispatch.finishedHandle
    dispatch.tellMiddlewares(of: action, by: self, on: thread)
    let end = Dispatch.runHeard(&dispatch, at: action, on: thread)
    return handle(of: dispatch, finished, after: end, on: thread)
  }

  /// Brings what goes on to its end.
  @inline(__always)
  private func handle(
    of dispatch: consuming Dispatch, _ finished: DispatchHandle, after end: InlineEnd,
    on thread: ThreadState
  ) -> DispatchHandle {
    switch end {
    case .reusable:
      thread.spareDispatches.push(dispatch)
      return finished
    case .ended:
      break
    case .goesOn:
      (dispatch.scheduler as? SyncLoop)?.runToEnd(of: dispatch, on: thread)
    }
    return DispatchHandle(dispatch)
  }
}
