// Dispatches that begin later than they are made. The record is made at the call, with its route, by which it is
// accepted and counted as under way; others may know it, and end it. It has no place in its lane: when its time has
// come, it is taken to the stores that are there then, and scheduled.
extension Dispatcher {
  /// Others may know a dispatch from now on, before its scheduler has it: what ends it meanwhile runs on the concurrent
  /// queue, for `.sync` on its caller's thread, and in its task.
  func makeKnown(_ dispatch: Dispatch, _ mode: Mode, on thread: ThreadState) {
    let details = dispatch.makeDetails()
    details.isKnown = true
    // By which it is accepted.
    if !dispatch.isAction {
      dispatch.keep(route(to: WorkAcceptance.self, identifier: nil, on: thread))
    }
    if details.scheduler != nil { return }
    if mode.isSync {
      dispatch.leaveScheduler()
      details.scheduler = SyncLoop.make(on: thread)
      dispatch.keep(outer: DispatchContext.blocked(on: thread))
    } else {
      details.scheduler = pool
    }
  }

  /// Lets a dispatch begin when its delay has ended: on the concurrent queue, for `.sync` here.
  func begin(
    _ dispatch: Dispatch, after delay: DispatchDelay, _ admitted: AdmittedDispatch,
    _ subject: DispatchSubject, _ mode: Mode, on thread: ThreadState
  ) {
    if mode.isSync {
      return runBlocking(dispatch, after: delay, admitted, subject, on: thread)
    }
    var admitted = admitted
    admitted.announce(by: self)
    keep(dispatch, delay, subject, mode) { [self] in
      pool.resume { self.beginDelayed(dispatch, subject, mode) }
    }
    admitted.enter(by: self)
  }

  /// Keeps it until it begins, or ends before.
  private func keep(
    _ dispatch: Dispatch, _ delay: DispatchDelay, _ subject: DispatchSubject, _ mode: Mode,
    _ proceed: @escaping @Sendable () -> Void
  ) {
    let (delayed, id) = (delayedDispatches, dispatch.id)
    delayed.insert(dispatch, subject, mode)
    dispatch.beforeResult {
      delay.drop()
      delayed.remove(id)
    }
    delay.whenEnded(proceed)
  }

  /// Its time has come; false where it does not begin, since it has ended, or times out here.
  private func endDelay(of dispatch: Dispatch, isUnaccepted: Bool) -> Bool {
    let details = dispatch.makeDetails()
    yieldPoint(.beginDelayed, dispatch.id.description)
    if let limit = details.withState(\.limit), limit.deadline.time <= clock.nanoseconds {
      dispatch.timeOut(limit.deadline.duration)
    }
    return details.withState { $0.endDelay(isUnaccepted: isUnaccepted) }
  }

  private func beginDelayed(_ dispatch: Dispatch, _ subject: DispatchSubject, _ mode: Mode) {
    guard endDelay(of: dispatch, isUnaccepted: true) else { return }
    let thread = ThreadState.current
    // Inside it, so that a dispatcher that was closed meanwhile accepts it.
    dispatch.withContext(of: nil, on: thread) {
      withExtendedLifetime(accept(dispatch, subject, mode, on: thread)) {
        dispatch.accepted(isInLane: !mode.isAsync)
      }
    }
    delayedDispatches.remove(dispatch.id)
  }

  // MARK: On the caller's thread

  private func runBlocking(
    _ dispatch: Dispatch, after delay: DispatchDelay, _ admitted: AdmittedDispatch,
    _ subject: DispatchSubject, on thread: ThreadState
  ) {
    let details = dispatch.makeDetails()
    guard let loop = details.scheduler as? SyncLoop else { return }
    var admitted = admitted
    admitted.announce(by: self)
    keep(dispatch, delay, subject, .sync) { loop.resume {} }
    admitted.enter(by: self)
    loop.run(dispatch, on: thread) { !delay.hasEnded && details.withState(\.isDelayed) }
    // While it is delayed: what ends it there needs nothing of what follows.
    let (before, isGated) = dispatch.obstacles
    var wait: WaitGraph.Wait?
    defer { if let wait { WaitGraph.end(wait) } }
    if isGated || !before.isEmpty, details.withState(\.isDelayed) {
      do {
        wait = try WaitGraph.begin(dispatch)
      } catch {
        dispatch.skip(with: error)
      }
    }
    guard endDelay(of: dispatch, isUnaccepted: false) else {
      return loop.runToEnd(of: dispatch, on: thread)
    }
    let outer = DispatchContext.blocked(on: thread)
    dispatch.withContext(of: nil, on: thread) {
      takeUp(dispatch, subject, .sync, on: thread)
      dispatch.keep(outer: outer)
      prepare(dispatch, to: subject.storeIdentifier, in: .sync, on: thread)
    }
    delayedDispatches.remove(dispatch.id)
    dispatch.resume(after: before)
    loop.run(dispatch, on: thread)
  }

  // MARK: In the caller's task

  /// Lets a dispatch that a task sends begin in that task when its delay has ended.
  func begin(
    _ dispatch: Dispatch, after delay: DispatchDelay, _ admitted: AdmittedDispatch,
    _ subject: DispatchSubject, _ mode: Mode, in task: TaskScheduler
  ) {
    var admitted = admitted
    admitted.announce(by: self)
    keep(dispatch, delay, subject, mode) { [self] in
      task.resume { self.beginDelayed(dispatch, subject, mode, in: task) }
    }
    if Task.isCancelled { dispatch.cancel() }
    admitted.enter(by: self)
  }

  private func beginDelayed(
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
    let (before, isGated) = dispatch.obstacles
    schedule(dispatch, at: task, after: before, isGated: isGated) {
      let place = scheduler(of: mode)
      task.move(to: place)
      return task
    }
    dispatch.refuseRing()
    delayedDispatches.remove(dispatch.id)
  }
}

extension Dispatch {
  /// Others knew it before it was scheduled, and could not see what it would be behind.
  func refuseRing() {
    if !isPlanted(.lateRing), let ring = WaitGraph.ring(around: self) { refuse(with: ring.error) }
  }

  /// Ends it before it begins, since another one was made later, or it would wait for ever.
  func skip(with error: DispatchError) {
    cancel { $0.skip(error) }
  }

  /// It no longer uses the stores that it was taken to.
  func leaveRoute() {
    takeRoute()?._withUnsafeGuaranteedRef { $0.end() }
  }
}
