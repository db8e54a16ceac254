/// A run of an effect, in a task of its own.
final class EffectRun: FamilyMember, TimerTarget, @unchecked Sendable {
  // because `line` is set before another thread knows the run, and all else is constant or locked
  let registered: RegisteredEffect
  let dispatcher: Dispatcher
  /// The followed action; nil for a long-lived effect.
  let action: (any ActionType)?
  let result: DispatchResult?
  /// The key, if the effect's policy holds by key.
  let key: TypedKey?
  /// The run's line among those of the effect, set when the run enters it.
  var line: EffectLines<EffectRun>.LineID = 0
  /// Stands for the run, without stores, under the identifier of the dispatch that the effect follows.
  ///
  /// As the parent of the run's dispatches, it passes its cancellation on to them. By its route it is counted as
  /// under way.
  private let standIn: Dispatch
  private let carried: CapturedTaskLocal?
  private let state = Locked(EffectRunState())

  /// Makes the run for an action.
  ///
  /// Nil if the dispatcher accepts none, or if the followers of the dispatch were cancelled.
  init?(
    of registered: RegisteredEffect, following ended: EndedDispatch, _ key: TypedKey?,
    on thread: ThreadState
  ) {
    guard
      let standIn = Dispatch.standIn(
        ended.dispatchID, parent: ended.parent, ended.callSite, of: ended.dispatcher, on: thread)
    else { return nil }
    self.registered = registered
    dispatcher = ended.dispatcher
    (action, result, self.key) = (ended.action, ended.result, key)
    self.standIn = standIn
    carried = dispatcher.captureTaskLocals()
    guard ended.lead(to: self, standingIn: standIn) else {
      standIn.end(DispatchResult(dispatchID: standIn.id))
      return nil
    }
    // Durable work outlasts the client who has caused it.
    if !registered.isDurable, let deadline = ended.deadline { put(deadline) }
  }

  /// Makes the run of a long-lived effect, or for an action of an earlier process; nil if the dispatcher accepts none.
  init?(
    of registered: RegisteredEffect, _ dispatcher: Dispatcher, _ callSite: CallSite,
    _ action: (any ActionType)? = nil, on thread: ThreadState
  ) {
    guard
      let standIn = Dispatch.standIn(
        .make(on: thread), parent: DispatchContext.currentTransaction(on: thread), callSite,
        of: dispatcher, on: thread)
    else { return nil }
    self.registered = registered
    self.dispatcher = dispatcher
    (self.action, result, key) = (action, nil, nil)
    self.standIn = standIn
    carried = dispatcher.captureTaskLocals()
  }

  var dispatchID: DispatchID { standIn.id }
  var hasEnded: Bool { state.withLock(\.hasEnded) }
  var isActive: Bool { state.withLock(\.isActive) }

  /// Lets the run's dispatches time out at a deadline, and cancels the run then.
  private func put(_ deadline: Int64) {
    let deadline = Deadline(time: deadline, nanoseconds: deadline - dispatcher.clock.nanoseconds)
    let details = standIn.makeDetails()
    details.put(TimeLimit(until: deadline, of: dispatcher, endsEarly: false))
    details.startTimer(for: self)
  }

  // MARK: Its life

  /// Begins the run on this thread.
  func begin() {
    yieldPoint(.beginEffect)
    guard state.withLock({ $0.begin() }) else { return registered.ended(self) }
    let executor = OperationExecutor(dispatcher.pool)
    let context = TaskContext(following: standIn, of: dispatcher)
    executor.context = context
    let task = Task(executorPreference: executor) {
      await DispatchContext.$inTask.withValue(context) {
        context.begin()
        await self.perform()
        context.end()
      }
    }
    if state.withLock({ $0.keep(task) }) { task.cancel() }
  }

  /// Begins the run on a thread of the library, with the task-local values of its own dispatch.
  func beginElsewhere() {
    dispatcher.pool.resume {
      if let carried = self.carried { carried.bind(self.begin) } else { self.begin() }
    }
  }

  @concurrent
  private func perform() async {
    switch registered.effect.kind {
    case .following(let following):
      _ = await attempt(following.body)
    case .running(let restart, let body):
      var left = restart.limit ?? .max
      while await !attempt(body), left > 0, isActive {
        left -= 1
        await sleep(for: restart.delay)
      }
    }
    end()
  }

  /// Runs the body once.
  ///
  /// Returns whether it has returned, or the run was cancelled.
  private func attempt(_ body: Effect.Body) async -> Bool {
    if !isActive { return true }
    do {
      try await body(self)
      return true
    } catch is CancellationError {
      return true
    } catch {
      if isActive { report(error) }
      return false
    }
  }

  private func report(_ error: any Error) {
    dispatcher.report(
      DispatchWarning(
        kind: .effectFailed, storeIdentifier: nil,
        message: "\(registered.effect.name) failed in dispatcher \"\(dispatcher.name)\": \(error)"))
    registered.effect.onFailure?(error, EffectContext(self))
  }

  private func end() {
    yieldPoint(.endEffect)
    state.withLock { $0.end() }
    // The next run before the end of this one, by which it may be accepted.
    registered.ended(self)
    endStandIn()
  }

  /// Ends the run without having begun.
  func skip() {
    state.withLock { $0.end() }
    endStandIn()
  }

  private func endStandIn() {
    standIn.end(DispatchResult(dispatchID: standIn.id))
  }

  // MARK: Cancellation

  func cancelAlone(timedOut: Bool, after duration: Duration) -> Bool {
    cancel()
    return true
  }

  func cancel() {
    yieldPoint(.cancel)
    switch state.withLock({ $0.cancel() }) {
    case .end:
      skip()
    case .cancel(let task, let sleep):
      // First, since the run may end as soon as its task is cancelled.
      cancelDispatches()
      task?.cancel()
      if let sleep { wake(sleep) }
    case .cancelDispatches:
      cancelDispatches()
    case .none:
      break
    }
  }

  /// Cancels the run's dispatches, even those that have outlasted it.
  private func cancelDispatches() {
    if standIn.cancelAlone(timedOut: false, after: .zero) { standIn.cancelChildren() }
  }

  /// Cancels the run at its deadline.
  func timerFired() {
    if let limit = standIn.details?.withState(\.limit) { standIn.timeOut(limit.deadline.duration) }
    cancel()
  }

  // MARK: The delay before a restart

  private final class Alarm: TimerTarget {
    let run: EffectRun

    init(of run: EffectRun) {
      self.run = run
    }

    func timerFired() {
      if let sleep = run.state.withLock({ $0.wake() }) { run.wake(sleep) }
    }
  }

  /// Sleeps until the time has passed, or the run is cancelled.
  func sleep(for duration: Duration) async {
    await withUnsafeContinuation { waiter in
      guard state.withLock({ $0.sleep(waiter) }) else { return waiter.resume() }
      let time = dispatcher.clock.nanoseconds.addingClamped(duration.wholeNanoseconds)
      let timer = dispatcher.timers.add(Alarm(of: self), at: time)
      if !state.withLock({ $0.keep(timer) }) { dispatcher.timers.remove(timer) }
    }
  }

  private func wake(_ sleep: EffectRunState.Sleep) {
    if let timer = sleep.timer { dispatcher.timers.remove(timer) }
    sleep.waiter.resume()
  }
}

extension Dispatch {
  /// Makes a dispatch without stores that stands for an effect's run or a group; nil if the dispatcher accepts
  /// nothing.
  ///
  /// The stand-in runs until `end`, and is counted as under way for that time.
  static func standIn(
    _ id: DispatchID, parent: DispatchID?, _ callSite: CallSite, of dispatcher: Dispatcher,
    on thread: ThreadState
  ) -> Dispatch? {
    let route = dispatcher.route(to: WorkAcceptance.self, identifier: nil, on: thread)
    guard route._withUnsafeGuaranteedRef({ !$0.hasFailed }) else {
      route._withUnsafeGuaranteedRef { $0.end() }
      return nil
    }
    let standIn = Dispatch()
    standIn.begin(id, parent: parent, to: route, nil, callSite)
    standIn.beginHere(inside: nil)
    standIn.enter(dispatcher.pool)
    _ = standIn.makeDetails()
    return standIn
  }
}
