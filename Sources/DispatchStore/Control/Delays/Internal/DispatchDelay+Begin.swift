// Dispatches that begin later than they are made. The call makes the record and its route, which accepts the dispatch
// and counts it as outstanding. Others may see the dispatch and end it. It has no position in its lane. After the
// delay it goes to the stores that exist then, and is scheduled.
extension DispatchDelay: DelayedStart {
  func begin(
    _ admitted: AdmittedDispatch, _ subject: DispatchSubject, by dispatcher: Dispatcher,
    in task: TaskScheduler?, on thread: ThreadState
  ) {
    let (dispatch, mode) = (dispatch, mode)
    let loop = mode.isSync ? dispatch.makeDetails().scheduler as? SyncLoop : nil
    var admitted = admitted
    admitted.announce(by: dispatcher)
    dispatcher.keep(self, subject) {
      if let loop {
        loop.resume {}
      } else if let task {
        task.resume { dispatcher.beginDelayed(dispatch, subject, mode, in: task) }
      } else {
        dispatcher.resumeDelayed(dispatch, subject, mode)
      }
    }
    if task != nil, dispatch.isCancelledWithTask { dispatch.cancel() }
    admitted.enter(by: dispatcher)
    if let loop { dispatcher.runBlocking(dispatch, after: self, subject, in: loop, on: thread) }
  }
}

extension Dispatcher {
  /// Keeps a delayed dispatch until it begins or ends.
  fileprivate func keep(
    _ delay: DispatchDelay, _ subject: DispatchSubject, _ proceed: @escaping @Sendable () -> Void
  ) {
    let (dispatch, delayed) = (delay.dispatch, delayedDispatches)
    let id = dispatch.id
    delayed.insert(delay, subject)
    dispatch.at(.beforeResult) {
      delay.drop()
      delayed.remove(id)
    }
    for companion in dispatch.makeDetails().companions {
      companion.noteDelay(subject, in: delay.mode)
    }
    dispatch.cancel { $0.delayIsArranged() }
    delay.whenEnded(proceed)
  }

  /// Ends the delay; returns false if the dispatch has ended, or times out here.
  private func endDelay(of dispatch: Dispatch, isUnaccepted: Bool) -> Bool {
    let details = dispatch.makeDetails()
    yieldPoint(.beginDelayed, dispatch.id.description)
    if let limit = details.withState(\.limit), limit.deadline.time <= clock.nanoseconds {
      dispatch.timeOut(limit.deadline.duration)
    }
    return details.withState { $0.endDelay(isUnaccepted: isUnaccepted) }
  }

  // MARK: On the concurrent queue

  fileprivate func resumeDelayed(
    _ dispatch: Dispatch, _ subject: DispatchSubject, _ mode: Mode
  ) {
    let start: @Sendable () -> Void = { self.beginDelayed(dispatch, subject, mode) }
    guard let lane = mode.laneKeys.first else { return pool.resume(start) }
    delayedDispatches.begin(in: lane, start)
  }

  private func beginDelayed(_ dispatch: Dispatch, _ subject: DispatchSubject, _ mode: Mode) {
    guard endDelay(of: dispatch, isUnaccepted: true) else { return }
    let thread = ThreadState.current
    // Accept it inside its own context, so that a dispatcher that was closed meanwhile still does.
    dispatch.withContext(of: nil, on: thread) {
      withExtendedLifetime(accept(dispatch, subject, mode, on: thread)) {
        dispatch.accepted(isInLane: !mode.isAsync)
      }
    }
    delayedDispatches.remove(dispatch.id)
  }

  // MARK: On the caller's thread

  fileprivate func runBlocking(
    _ dispatch: Dispatch, after delay: DispatchDelay, _ subject: DispatchSubject,
    in loop: SyncLoop, on thread: ThreadState
  ) {
    let details = dispatch.makeDetails()
    loop.run(dispatch, on: thread) { !delay.hasEnded && details.withState(\.isDelayed) }
    // Check while it is delayed: if it ends in that phase, it needs none of the following.
    let (before, gateHoldsBack) = dispatch.obstacles
    var wait: WaitGraph.Wait?
    defer { if let wait { WaitGraph.end(wait) } }
    if gateHoldsBack || !before.isEmpty, details.withState(\.isDelayed) {
      do {
        wait = try WaitGraph.begin(dispatch)
      } catch {
        dispatch.drop(with: error)
      }
    }
    guard endDelay(of: dispatch, isUnaccepted: false) else {
      return loop.runToEnd(of: dispatch, on: thread)
    }
    let outer = DispatchContext.blocked(on: thread)
    dispatch.withContext(of: nil, on: thread) {
      takeUp(dispatch, subject, .sync, on: thread)
      dispatch.outer = outer
      prepare(dispatch, to: subject.storeIdentifier, in: .sync, on: thread)
    }
    delayedDispatches.remove(dispatch.id)
    dispatch.resume(after: before)
    loop.run(dispatch, on: thread)
  }

  // MARK: In the caller's task

  fileprivate func beginDelayed(
    _ dispatch: Dispatch, _ subject: DispatchSubject, _ mode: Mode, in task: TaskScheduler
  ) {
    guard endDelay(of: dispatch, isUnaccepted: false) else { return }
    let thread = ThreadState.current
    dispatch.withContext(of: nil, on: thread) {
      takeUp(dispatch, subject, mode, on: thread)
      prepare(dispatch, to: subject.storeIdentifier, in: mode, on: thread)
    }
    let place = scheduler(of: mode)
    task.move(to: place)
    schedule(dispatch, at: task) {
      let place = scheduler(of: mode)
      task.move(to: place)
      return task
    }
    dispatch.accepted(isInLane: true)
    delayedDispatches.remove(dispatch.id)
  }
}
