/// The state of a dispatch in its caller's task, after the part of the call that needs no waiting.
@usableFromInline
enum SentDispatch {
  case ended(DispatchResult)
  /// The dispatch continues in `runToEnd`, with this scheduler for the task.
  case underWay(Dispatch, TaskScheduler)
  /// The dispatch runs detached, as if not sent, and the task awaits it.
  case detached(Dispatch)
  /// The dispatch begins once its admission control has waited.
  case waits(DispatchAdmission)
  /// The dispatch begins once the exclusive section of this thread has been left.
  ///
  /// Only a task that was made there as an immediate one runs on the thread. The value is whether the section was that
  /// of an atomic action that was undone.
  case inSection(Eventual<Bool>)
}

// Structured dispatches. If the lane is idle, the task acquires it with one atomic operation. An inline run then
// takes the action through its stores without a record, as for `.sync`. Otherwise the dispatch takes its turn in the
// lane's inbox. An action that only reduces then runs on the lane's thread, and the task is resumed once, with the
// result. So tasks that contend for a lane form no convoy. For any other action, the lane's turn starts the task. A task
// that is not on the main actor waits for the turn there also if the lane is idle, and goes there when it is started.
extension Dispatcher {
  /// Runs an action on this thread, until its task has to wait.
  ///
  /// - Parameter isElsewhere: Whether the mode is `mainThread`, and the task is not on the main actor. The dispatch then
  ///   waits for its turn, also if the lane is idle: the main queue may be busy.
  @usableFromInline
  func beginSend(
    _ action: UnsafeRawPointer, of type: any ActionType.Type, to storeIdentifier: String?,
    _ mode: Mode, _ options: DispatchOptions, _ completion: Completion?, _ callSite: CallSite,
    isElsewhere: Bool
  ) -> SentDispatch {
    let thread = ThreadState.current(by: threadKey)
    checkWorld(on: thread, at: callSite)
    if let end = thread.sectionEnd() { return .inSection(end) }
    let route = route(to: type, identifier: storeIdentifier, on: thread)
    let isHeldBack = !options.after.isEmpty && !options.unended.isEmpty
    let isControlled = options.isControlled || defaultAdmission != nil
    let isDetached = options.control?.isDetached == true
    if !isControlled, !isHeldBack, !isElsewhere, mayRunHere(route, mode), !Task.isCancelled {
      let place = scheduler(of: mode)
      if place.acquire() {
        let sent = run(
          action, type, to: route, storeIdentifier, mode, at: place, completion, callSite,
          on: thread)
        recycle(place)
        return sent
      }
    }
    if let error = route._withUnsafeGuaranteedRef(\.refusal) {
      options.control?.giveBack()
      return .ended(
        makeRefused(along: route, with: error, completion, callSite, on: thread).resultIfEnded!)
    }
    var options = options
    if isControlled,
      let sent = askAdmission(
        &options, isDetached, mode, along: route, completion, callSite, on: thread)
    {
      return sent
    }
    let onlyReduces = route._withUnsafeGuaranteedRef(\.onlyReduces)
    // A block needs a task of its own, since a deadline may end the dispatch before the block.
    if isDetached, !onlyReduces || mode.isMainThread {
      route._withUnsafeGuaranteedRef { $0.end() }
      let handle = enqueue(
        copyAction(type, at: action), of: type, to: storeIdentifier, mode: mode, options: options,
        completion, callSite)
      return handle.resultIfEnded.map(SentDispatch.ended) ?? .detached(handle.dispatch!)
    }
    // A block needs the task; a dispatch that only reduces may run here, or on its lane's thread.
    let needsTask = !onlyReduces || mode.isMainThread && !isElsewhere
    return queue(
      copyAction(type, at: action), to: route, storeIdentifier, mode, options, completion, callSite,
      needsTask: needsTask, isElsewhere: isElsewhere, on: thread)
  }

  /// Asks the admission control, which may take units of limits; nil if the dispatch is to be made now.
  private func askAdmission(
    _ options: inout DispatchOptions, _ isDetached: Bool, _ mode: Mode,
    along route: Unmanaged<Route>, _ completion: Completion?, _ callSite: CallSite,
    on thread: ThreadState
  ) -> SentDispatch? {
    pool.runSurplusEnds(on: thread)
    options.control = control(options, mode)
    // Before the dispatch takes a unit or ends others, since it runs nothing.
    if !isDetached, options.control?.isReady == false, Task.isCancelled {
      return .ended(
        makeRefused(along: route, with: CancellationError(), completion, callSite, on: thread)
          .resultIfEnded!)
    }
    let deadline = deadline(options, options.control, at: callSite)
    guard let admission = options.control?.send(to: self, at: callSite, until: deadline) else {
      return nil
    }
    options.control = admission
    guard admission.mustWait else { return nil }
    route._withUnsafeGuaranteedRef { $0.end() }
    return .waits(admission)
  }

  /// Whether a task can run a dispatch without a record.
  ///
  /// In a lane it can't if there is middleware: hooks must not run while the task holds the lane.
  private func mayRunHere(_ route: Unmanaged<Route>, _ mode: Mode) -> Bool {
    route._withUnsafeGuaranteedRef {
      !$0.needsPreparation || mode.isAsync && !$0.hasFailed && !$0.mayChange
    }
  }

  private func run(
    _ action: UnsafeRawPointer, _ type: any ActionType.Type, to route: Unmanaged<Route>,
    _ storeIdentifier: String?, _ mode: Mode, at place: Scheduler, _ completion: Completion?,
    _ callSite: CallSite, on thread: ThreadState
  ) -> SentDispatch {
    let identifiers = route._withUnsafeGuaranteedRef(\.identifiers)
    var run = InlineRun(
      action, to: route, of: .passUnretained(self), at: place, completion, callSite, on: thread)
    let handle = withUnsafeMutablePointer(to: &run) {
      runHere($0, action, type, to: storeIdentifier, mode, on: thread)
    }
    if run.task == nil { place.release(nil, ofTaskOf: self) }
    guard let dispatch = handle.dispatch else {
      return .ended(DispatchResult(dispatchID: run.dispatchID, identifiers: identifiers))
    }
    return run.continuesInTask ? .underWay(dispatch, run.task!) : .ended(dispatch.result!)
  }

  /// Makes a record for a dispatch that may have to wait for its turn.
  private func queue(
    _ action: any ActionType, to route: Unmanaged<Route>, _ storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchOptions, _ completion: Completion?, _ callSite: CallSite, needsTask: Bool,
    isElsewhere: Bool, on thread: ThreadState
  ) -> SentDispatch {
    let dispatch = pool.makeDispatch(on: thread)
    setUp(dispatch, to: route, mode, options, completion, callSite, on: thread)
    // The dispatch gets its position only after admission, because a named lane must be used once it is looked up.
    let task = TaskScheduler(at: pool, of: self, isElsewhere: isElsewhere)
    let details = dispatch.makeDetails()
    (details.scheduler, details.dispatcher) = (task, self)
    dispatch.enter(task)
    dispatch.put(action)
    var admitted: AdmittedDispatch?
    do {
      admitted = try admit(dispatch, options, mode, on: thread)
    } catch {
      dispatch.leaveScheduler()
      details.scheduler = nil
      return .ended(endUnadmitted(dispatch, with: error, .sync).resultIfEnded!)
    }
    if let admitted, let delay = admitted.delay {
      delay.begin(
        admitted, DispatchSubject(actions: [action], storeIdentifier: storeIdentifier), by: self,
        in: task, on: thread)
      VirtualSleeps.ofTask?.begin(awaiting: dispatch)
      return .underWay(dispatch, task)
    }
    prepare(dispatch, to: storeIdentifier, in: mode, on: thread)
    var isQueued = false
    if dispatch.isCancelledWithTask {
      dispatch.cancel()
    } else if acquirePlace(of: dispatch, details, mode, in: task) {
      admitted?.enter(by: self, startsHere: true)
      Dispatch.start(dispatch, in: task, runsHere: !needsTask, on: thread)
      return .underWay(dispatch, task)
    } else {
      isQueued = schedule(dispatch, &admitted, details, mode, in: task, needsTask: needsTask)
    }
    if let admitted { admitted.enter(by: self) }
    // Effects of the dispatch begin on the lane's thread, which does not know the block around the task. The dispatch
    // is cancelled with its task alone, which may be an unstructured one.
    if isQueued, !details.isDetached, mayBeOfBlock(dispatch, on: thread),
      let block = DispatchContext.linkedBlock(from: thread.run, on: thread), !block.isOver
    {
      dispatch.join(block, follows: true)
    }
    return .underWay(dispatch, task)
  }

  /// Sets the place of a dispatch, and acquires it for the task if it is free at once and the task is there.
  private func acquirePlace(
    of dispatch: Dispatch, _ details: DispatchDetails, _ mode: Mode, in task: TaskScheduler
  ) -> Bool {
    let place = details.isJoining ? freeScheduler(of: mode) : scheduler(of: mode)
    task.move(to: place)
    let isHeldBack = dispatch.isHeldBack
    if isHeldBack { VirtualSleeps.ofTask?.begin(awaiting: dispatch) }
    guard !task.isElsewhere, !isHeldBack, place.acquire() else { return false }
    place.hold(dispatch)
    return true
  }

  /// Schedules a dispatch that has to wait for its turn.
  ///
  /// - Returns: Whether it runs on the lane's thread.
  private func schedule(
    _ dispatch: Dispatch, _ admitted: inout AdmittedDispatch?, _ details: DispatchDetails,
    _ mode: Mode, in task: TaskScheduler, needsTask: Bool
  ) -> Bool {
    if !needsTask {
      admitted?.announce(by: self)
      let place = task.place
      details.scheduler = place
      dispatch.enter(place)
      schedule(dispatch, at: place) {
        let place = scheduler(of: mode)
        details.scheduler = place
        dispatch.move(to: place)
        return place
      }
      return true
    }
    schedule(dispatch, at: task) {
      let place = scheduler(of: mode)
      task.move(to: place)
      return task
    }
    return false
  }
}
