/// A run of an effect, with a task for each attempt: a run that waits for its turn or pauses has none.
final class EffectRun: FamilyMember, @unchecked Sendable {
  // because all is constant or locked
  let registered: RegisteredEffect
  let dispatcher: Dispatcher
  /// Identifies the run, also among those that follow the same dispatch or sequence.
  let id: DispatchID
  /// The followed action; nil for a long-lived effect.
  let action: (any ActionType)?
  let result: DispatchResult?
  /// The key, if the effect's policy holds by key.
  let key: TypedKey?
  /// For a durable effect, the work to do.
  let work: OutboxEntry?
  /// Stands for the run, without stores, under the identifier of the dispatch that the effect follows.
  ///
  /// As the parent of the run's dispatches, it passes its cancellation on to them. By its route it is counted as
  /// under way.
  private let standIn: Dispatch
  private let carried: CapturedTaskLocal?
  /// Known only if a test waits for runs, and so are the sleeps.
  let continuations: FollowedContinuations?
  private let sleeps: VirtualSleeps?
  /// The deadline of the dispatch that the run follows, by the dispatcher's clock.
  private let deadline: Int64?
  private let state = Locked(EffectRunState())

  /// Makes a run: for an action, of a long-lived effect, or for work of an earlier run.
  ///
  /// Nil if the dispatcher accepts none, or if the followers of the dispatch were cancelled.
  ///
  /// - Parameter ended: The dispatch that the run follows; nil for the others.
  init?(
    of registered: RegisteredEffect, by dispatcher: Dispatcher,
    following ended: EndedDispatch? = nil, key: TypedKey? = nil, doing work: OutboxEntry? = nil,
    on thread: ThreadState
  ) {
    let parent =
      ended == nil ? DispatchContext.currentTransaction(on: thread) : ended?.parent
    guard
      let standIn = Dispatch.standIn(
        ended?.dispatchID ?? .make(on: thread), parent: parent,
        ended?.callSite ?? registered.effect.callSite, of: dispatcher, on: thread)
    else { return nil }
    (self.registered, self.dispatcher, self.standIn) = (registered, dispatcher, standIn)
    id = ended == nil ? standIn.id : .make(on: thread)
    (action, result) = (ended?.action ?? work?.action, ended?.result)
    (self.key, self.work) = (key, work)
    carried = dispatcher.captureTaskLocals()
    continuations = dispatcher.continuations
    sleeps = continuations?.makeSleeps()
    // Durable work outlasts the client who has caused it.
    deadline = registered.isDurable ? nil : ended?.deadline
    if let ended, !ended.lead(to: self, standingIn: standIn) {
      standIn.end(DispatchResult(dispatchID: standIn.id))
      return nil
    }
  }

  var dispatchID: DispatchID { standIn.id }
  var hasEnded: Bool { state.withLock(\.hasEnded) }
  var isActive: Bool { state.withLock(\.isActive) }
  /// The run's line among those of the effect; nil until the run is about to enter it.
  var line: SharedEffectLine? { state.withLock(\.line) }
  /// Whether an attempt may call the body: a cancellation, or the end of the dispatcher, may have come before.
  var mayCallBody: Bool { isActive && !registered.beginsNone }
  /// Whether a test waits for the run, which does not pause, and none of whose tasks sleeps.
  var isAwake: Bool { sleeps?.isEmpty == true && !state.withLock(\.isPausing) }
  /// Whether one of its tasks sleeps on a virtual clock.
  var isAsleep: Bool { sleeps?.isAnySleeping == true }
  /// Whether the run's new dispatches are cancelled, since what follows the client's dispatch is.
  var isBeingCancelled: Bool { standIn.makeDetails().refusesFollowers }
  /// The number of attempts that have begun.
  var attemptCount: Int { state.withLock(\.attemptCount) }

  /// Lets the run's dispatches time out at the deadline, and cancels the run then; unless it has passed.
  private func putDeadline() {
    let now = dispatcher.clock.nanoseconds
    guard let time = deadline, time > now else { return }
    let deadline = Deadline(time: time, nanoseconds: time - now)
    let details = standIn.makeDetails()
    details.put(TimeLimit(until: deadline, of: dispatcher, endsEarly: false))
    details.startTimer(if: { $0.needsTimer(startsHere: false) }) { self.timerFired() }
  }

  // MARK: Its life

  func willEnter(_ line: SharedEffectLine) { state.withLock { $0.line = line } }

  /// Begins an attempt on this thread.
  func begin() {
    yieldPoint(.beginEffect)
    guard let attempt = state.withLock({ $0.begin() }) else { return registered.ended(self) }
    let executor = OperationExecutor(dispatcher.pool)
    let context = TaskContext(
      standIn: standIn, of: dispatcher, at: dispatcher.pool, sleeps: sleeps)
    executor.context = context
    let task = Task(executorPreference: executor) {
      await DispatchContext.$inTask.withValue(context) {
        context.begin()
        await self.perform(attempt)
        context.end()
      }
    }
    if state.withLock({ $0.keep(task, of: attempt) }) { task.cancel() }
  }

  /// Begins an attempt on a thread of the library.
  func beginElsewhere() { elsewhere { self.begin() } }

  /// Calls a closure on a thread of the library, with the task-local values of the run's own dispatch.
  private func elsewhere(_ body: @escaping @Sendable () -> Void) {
    dispatcher.pool.resume(
      dispatcher.pool.goingOn {
        if let carried = self.carried { carried.bind(body) } else { body() }
      })
  }

  @concurrent
  private func perform(_ attempt: Int) async {
    if let time = await make(attempt) { pause(for: time, after: attempt) } else { end() }
  }

  /// Runs the body once; returns the pause before another attempt, if there is one.
  private func make(_ attempt: Int) async -> Duration? {
    if !mayCallBody { return nil }
    putDeadline()
    let began = dispatcher.clock.nanoseconds
    do {
      return try await registered.effect.body(self)
    } catch is CancellationError {
      return nil
    } catch {
      let pause = pause(of: registered.effect.restart, since: began)
      if isActive { report(error, isLast: pause == nil) }
      return pause
    }
  }

  /// The pause after a failure of a run that began at a time; nil if the run is not restarted.
  private func pause(of restart: EffectRestart, since began: Int64) -> Duration? {
    let resets = dispatcher.clock.nanoseconds - began >= restart.resetAfter.wholeNanoseconds
    let failures = state.withLock { $0.countFailure(resets: resets) }
    return failures <= restart.limit ?? .max ? pause(of: restart.backoff, after: failures) : nil
  }

  /// The pause before another attempt, after this number of failures.
  func pause(of backoff: RetryBackoff, after failures: Int) -> Duration {
    let seed = dispatcher.pool.world.map { _ in dispatchID.rawValue &* 1_048_576 }
    return .nanoseconds(backoff.pause(after: failures, seed: seed))
  }

  private func report(_ error: any Error, isLast: Bool) {
    dispatcher.report(
      .effectFailed,
      "\(registered.effect.name) failed in dispatcher \"\(dispatcher.name)\": \(error)")
    if let onFailure = registered.effect.onFailure { return onFailure(error, EffectContext(self)) }
    if isLast { continuations?.hasFailed("\(registered.effect.name) failed: \(error)") }
  }

  /// Ends the run, whether or not it has begun.
  func end() {
    yieldPoint(.endEffect)
    guard state.withLock({ $0.end() }) else { return }
    // The work may have another run, which does not begin before this one has left its line.
    continuations?.begin()
    defer { continuations?.end() }
    // The next run before the end of this one, by which it may be accepted.
    registered.ended(self)
    if let work, let outbox = registered.outbox {
      work.runHasEnded()
      // Idle first: if the dispatcher closes meanwhile, it finds the work so, or this finds that it has closed. Both come
      // before the end of this run, for which a drain waits.
      let isRevived = work.endRun()
      outbox.giveUp(work, by: dispatcher)
      if state.withLock(\.isCancelled) {
        // Somebody has cancelled the run, and not the work.
        elsewhere { outbox.beginIfPending(work, by: self.dispatcher) }
      } else if isRevived {
        elsewhere { outbox.begin(work, by: self.dispatcher) }
      }
    }
    standIn.end(DispatchResult(dispatchID: standIn.id))
  }

  // MARK: The time limit of an attempt

  /// Does the work of an attempt, whose task is cancelled when its time is over.
  ///
  /// Work that is done all the same counts as done.
  func withTimeLimit<Result>(
    _ limit: Duration?, _ work: () async throws -> Result
  ) async throws -> Result {
    guard let limit else { return try await work() }
    let attempt = attemptCount
    let time = dispatcher.clock.nanoseconds.addingClamped(limit.wholeNanoseconds)
    let timer = dispatcher.timers.add(at: time) { self.timeOut(attempt) }
    defer { if !isPlanted(.nextAttemptEnds) { dispatcher.timers.remove(timer) } }
    do {
      return try await work()
    } catch {
      if state.withLock({ $0.isLate && $0.isActive }) {
        throw DispatchError.timedOut(attemptAt: registered.effect.callSite, after: limit)
      }
      throw error
    }
  }

  private func timeOut(_ attempt: Int) {
    yieldPoint(.cancel)
    let task = state.withLock { $0.timeOut(attempt) }
    task?.cancel()
  }

  // MARK: The pause before another attempt

  /// Begins the pause after an attempt, for which the run has neither a turn nor a task.
  private func pause(for duration: Duration, after attempt: Int) {
    // The run has left its line before its timer is there, which may be due at once.
    continuations?.begin()
    defer { continuations?.end() }
    // First, since a dispatcher that closes from now on ends the pause.
    registered.paused(self)
    guard registered.outbox?.isClosed != true, state.withLock({ $0.pause() }) else { return end() }
    let time = dispatcher.clock.nanoseconds.addingClamped(duration.wholeNanoseconds)
    let timer = dispatcher.timers.add(at: time) { self.timerFired() }
    if !state.withLock({ $0.keep(timer, after: attempt) }) { dispatcher.timers.remove(timer) }
  }

  /// Ends the pause, or cancels the run at its deadline: no run has both.
  private func timerFired() {
    if state.withLock({ $0.endPause() }) { return registered.pauseEnded(self) }
    if let limit = standIn.details?.withState(\.limit) { standIn.timeOut(limit.deadline.duration) }
    cancel()
  }

  // MARK: Cancellation

  func cancelAlone(timedOut: Bool, after duration: Duration) -> Bool {
    cancel()
    return true
  }

  func cancel() {
    yieldPoint(.cancel)
    switch state.withLock({ $0.cancel() }) {
    case .end(let timer):
      if let timer { dispatcher.timers.remove(timer) }
      cancelDispatches()
      end()
    case .cancel(let task):
      // First, since the run may end as soon as its task is cancelled.
      cancelDispatches()
      task?.cancel()
    case .none:
      break
    }
  }

  /// Cancels the run's dispatches, even those that have outlasted it.
  private func cancelDispatches() {
    if standIn.cancelAlone(timedOut: false, after: .zero) { standIn.cancelChildren() }
  }
}

extension DispatchError {
  fileprivate static func timedOut(
    attemptAt callSite: CallSite, after limit: Duration
  ) -> DispatchError {
    DispatchError(
      code: .timedOut,
      message: "The attempt had not ended after \(limit), and was cancelled (\(callSite)).",
      callSites: [callSite], timeLimit: limit)
  }
}
