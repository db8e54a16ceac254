/// The actions of one dispatch.
///
/// Each is a dispatch of its own, and they run one after the other, on the scheduler of the whole.
final class DispatchSequence: DispatchScope, @unchecked Sendable {
  // because mutable state belongs to the step that runs, and the rest is constant
  private let ofDispatcher: Dispatcher
  let storeIdentifier: String?
  private let dispatched: [any ActionType]
  /// The dispatch whose result this one returns; only for a sequence without actions.
  private let joined: Dispatch?
  private let middlewares: [any Middleware]
  private let watcher: (any DispatchWatcher)?
  /// The trace until its end; nil if nothing watches it.
  @exclusivity(unchecked) private var trace: DispatchTrace?
  private let continuesOnFailure: Bool
  @exclusivity(unchecked) private var steps: [DispatchResult] = []
  /// The details that note its steps; only for a dispatch with a time limit.
  @exclusivity(unchecked) var limited: DispatchDetails?
  /// Whether all steps have succeeded.
  ///
  /// `mayContinue` says whether the last one has.
  @exclusivity(unchecked) private var isSuccess = true
  @exclusivity(unchecked) private var mayContinue = true
  /// The enclosing context on its caller's thread, while it runs there.
  @exclusivity(unchecked) var outer: DispatchContext?
  /// The route that accepts or refuses it, and counts it as outstanding; nil once it has ended.
  @exclusivity(unchecked) private var acceptance: Unmanaged<Route>?
  /// The gate at which the sequence waits after its last action; nil for most.
  @exclusivity(unchecked) private(set) var endGate: EndGate?
  /// The number of the last commit before the sequence came to that gate.
  @exclusivity(unchecked) private(set) var position: UInt64 = 0
  /// Whether a store of an action may have read or changed something, so that there is something to wait for.
  @exclusivity(unchecked) private(set) var hasStarted = false
  /// Times by the dispatcher's clock, if there are middlewares: of the dispatch, and of its first action.
  @exclusivity(unchecked) private var began: Int64 = 0
  @exclusivity(unchecked) private var startedAt = Int64.max

  /// Makes the sequence of a dispatch.
  ///
  /// - Parameter joined: A dispatch to wait for; a sequence without actions then ends as that does.
  init(
    of dispatch: Dispatch, _ actions: [any ActionType], to storeIdentifier: String? = nil,
    joining joined: Dispatch? = nil, continuesOnFailure: Bool = false, in mode: Dispatcher.Mode,
    by dispatcher: Dispatcher, on thread: ThreadState
  ) {
    let acceptance = dispatcher.route(
      to: WorkAcceptance.self, identifier: nil, isAccepted: dispatch.isAccepted, on: thread)
    (dispatched, self.storeIdentifier, self.joined) = (actions, storeIdentifier, joined)
    (self.continuesOnFailure, self.acceptance) = (continuesOnFailure, acceptance)
    (middlewares, watcher) = acceptance._withUnsafeGuaranteedRef {
      route -> ([any Middleware], (any DispatchWatcher)?) in
      guard joined == nil, !route.hasFailed, route.chain.hasWholes else { return ([], nil) }
      return (route.chain.wholes, route.chain.watcher)
    }
    ofDispatcher = dispatcher
    super.init()
    (id, parent, self.mode, callSite) = (dispatch.id, dispatch.parent, mode, dispatch.callSite)
    if !middlewares.isEmpty { began = dispatcher.clock.nanoseconds }
  }

  deinit {
    endAcceptance()
  }

  /// Stops counting it as outstanding, even if a hook still keeps it.
  private func endAcceptance() {
    takeAcceptance()?._withUnsafeGuaranteedRef { $0.end() }
  }

  /// Takes the route that counts it as outstanding, for the caller to end.
  func takeAcceptance() -> Unmanaged<Route>? { acceptance.take() }

  override var dispatcher: Dispatcher { ofDispatcher }
  override var actions: ShortList<any ActionType> { ShortList(dispatched) }
  override var isSequence: Bool { true }

  var unretainedDispatcher: Unmanaged<Dispatcher> { .passUnretained(dispatcher) }

  /// The generation in which it counts as outstanding.
  var generation: DispatchGeneration {
    acceptance.unsafelyUnwrapped._withUnsafeGuaranteedRef(\.presentGeneration)
  }

  /// The reason why none of its actions runs.
  private var rejection: DispatchError? {
    acceptance.unsafelyUnwrapped._withUnsafeGuaranteedRef(\.failure)
  }

  /// Whether the dispatcher was closed when the sequence was made.
  var isRefusedAtCall: Bool {
    acceptance?._withUnsafeGuaranteedRef(\.refusal) != nil
  }

  var isEmpty: Bool { dispatched.isEmpty }

  /// Whether another action follows the last dispatched one.
  var isBetweenActions: Bool { steps.count < dispatched.count }

  /// Whether no action follows the running one.
  var isAtLastAction: Bool { steps.count + 1 == dispatched.count }

  /// Whether all of its actions were dispatched and succeeded.
  var hasSucceeded: Bool {
    isSuccess && !isBetweenActions && rejection == nil && joined == nil
  }

  /// The next action; nil at the end, and after an action that did not succeed.
  var next: (any ActionType)? {
    guard isBetweenActions, continuesOnFailure || mayContinue, rejection == nil else { return nil }
    return dispatched[steps.count]
  }

  /// Notes the time before its first action is dispatched.
  func start() {
    if !middlewares.isEmpty, steps.isEmpty { startedAt = dispatcher.clock.nanoseconds }
  }

  /// Makes the sequence wait at a gate after its last action.
  func wait(at gate: EndGate) {
    if endGate == nil { (endGate, position) = (gate, gate.position) }
  }

  func append(_ result: DispatchResult) {
    if steps.isEmpty { steps.reserveCapacity(dispatched.count) }
    steps.append(result)
    if result.mayHaveStarted { hasStarted = true }
    limited?.withState { $0.notes?.note(result) }
    if let trace { trace.stepEnded(at: dispatcher.clock.nanoseconds) }
    mayContinue = result.isSuccess
    isSuccess = isSuccess && result.isSuccess
  }

  /// Returns the result of the sequence.
  ///
  /// - Parameter error: The reason for an end before the last action, if no action has failed.
  func result(
    of id: DispatchID, cutBy error: (any Error)?, refusal: DispatchError? = nil
  ) -> DispatchResult {
    if let joined { return result(of: joined, id, refusal ?? rejection ?? error) }
    let results = steps
    return DispatchResult(
      dispatchID: id, steps: results, skippedActionCount: dispatched.count - results.count,
      error: refusal ?? rejection ?? results.lazy.compactMap(\.error).first
        ?? (isBetweenActions ? error : nil))
  }
}

extension DispatchSequence {
  /// Returns the result of the joined dispatch, if the wait for it succeeded.
  private func result(
    of joined: Dispatch, _ id: DispatchID, _ error: (any Error)?
  ) -> DispatchResult {
    if error == nil, let result = joined.result { return result }
    return DispatchResult(dispatchID: id, error: error ?? CancellationError())
  }

  /// Calls `dispatchWillBegin`, and returns the task-local values that the hooks have bound.
  func dispatchBegan() -> [CapturedTaskLocal] {
    middlewares.isEmpty ? [] : begin(middlewares)
  }

  /// Lets other threads watch the dispatch, which therefore gets details, and its scheduler.
  func watch(_ dispatch: Dispatch) {
    guard let watcher else { return }
    _ = dispatch.makeDetails()
    let trace = DispatchTrace(
      dispatch, dispatched, isSequence: true, mode, caller: mode.isSync ? outer?.dispatch : nil,
      at: dispatcher.clock.nanoseconds)
    self.trace = trace
    watcher.watch(trace, of: dispatcher)
  }

  func dispatchEnded(_ dispatch: Dispatch, _ result: @autoclosure () -> DispatchResult) {
    defer { if let trace = trace.take() { watcher?.forget(trace) } }
    guard !middlewares.isEmpty else { return }
    let result = result()
    var info = DispatchInfo(self)
    info.setTimes(began: began, started: startedAt, ended: dispatcher.clock.nanoseconds)
    dispatch.perform(nil) {
      for middleware in middlewares.reversed() { middleware.dispatchDidEnd(info, result: result) }
    }
  }
}

extension Dispatch {
  /// Runs action after action, until one has to wait or none is left.
  ///
  /// - Parameter dispatch: The caller's only reference.
  static func runSequence(_ dispatch: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    guard dispatch.runSteps(on: thread), !dispatch.awaitsSaving() else { return .continues }
    return endSequence(&dispatch, on: thread)
  }

  /// Runs steps in a context of their own.
  ///
  /// The record serves as context if no values are bound, no caller waits and no context is outside.
  ///
  /// Otherwise the outer context is a constant of a new context, because a step's tasks may read it after this thread
  /// has moved on.
  @inline(never)
  private func runSteps(on thread: ThreadState) -> Bool {
    guard let sequence else { fatalError("A dispatch of several actions has a sequence.") }
    let (context, run) = (thread.context, thread.run)
    if isSynchronous || carried != nil || DispatchContext.enclosing(run, on: thread) != nil {
      var hasEnded = false
      perform(nil) { hasEnded = runSteps(of: sequence, on: thread) }
      return hasEnded
    }
    (thread.context, thread.run) = (self, nil)
    defer { (thread.context, thread.run) = (context, run) }
    return runSteps(of: sequence, on: thread)
  }

  /// Continues after an action that another thread has ended.
  private func continueSequence() {
    // Retained, because nothing else does after the end.
    let scheduler = scheduler
    var dispatch = self
    if case .continues = Self.runSequence(&dispatch, on: .current) { return }
    scheduler.release(dispatch)
  }

  /// Ends a sequence that was cancelled between two actions, also while the queue is suspended.
  func endPaused(at scheduler: Scheduler) {
    if !awaitsSaving(inPause: true) { endSequence(at: scheduler, inPause: true) }
  }

  private func runSteps(of sequence: DispatchSequence, on thread: ThreadState) -> Bool {
    // The sequence retains the dispatcher. One more reference per action would be a counter that all threads contend
    // for.
    let dispatcher = sequence.unretainedDispatcher
    while !isCancelled, let action = sequence.next {
      sequence.start()
      let route = dispatcher._withUnsafeGuaranteedRef {
        $0.route(
          to: type(of: action), identifier: sequence.storeIdentifier, isAccepted: true, on: thread)
      }
      guard run(action, along: route, of: sequence, on: thread) else { return false }
      if pause(sequence) { return false }
    }
    return true
  }

  /// Runs the dispatch of an action; returns false if that continues elsewhere.
  private func run(
    _ action: any ActionType, along route: Unmanaged<Route>, of sequence: DispatchSequence,
    on thread: ThreadState
  ) -> Bool {
    if let gate = route._withUnsafeGuaranteedRef(\.endGate) {
      if let details, details.endsUnsaved {
        details.notePersistentStore()
      } else {
        sequence.wait(at: gate)
      }
    }
    var step = makeStep(action, along: route, of: sequence, on: thread)
    if makeDetails().withState({ $0.begin(.step(step)) }) { cancelWork(.step(step)) }
    // The sequence's own values are bound already.
    let end =
      if let bound = step.carried, bound !== carried {
        bound.bind { Self.runInline(&step, on: thread) }
      } else {
        Self.runInline(&step, on: thread)
      }
    if case .continues = end, resume(after: step, sequence) { return false }
    noteEnd(of: step, sequence)
    Self.recycle(step, on: thread)
    return true
  }

  /// Makes the dispatch of one action on the scheduler of the sequence.
  ///
  /// No other thread can start it.
  private func makeStep(
    _ action: any ActionType, along route: Unmanaged<Route>, of sequence: DispatchSequence,
    on thread: ThreadState
  ) -> Dispatch {
    let step = thread.spareDispatches.pop() ?? Dispatch()
    step.begin(.make(on: thread), parent: id, to: route, nil, callSite)
    step.isStep = true
    step.put(action)
    if isSynchronous {
      // The record may have been used before, elsewhere.
      step.leaveScheduler()
      let own = step.makeDetails()
      own.scheduler = scheduler
      own.isCancellable = details?.isCancellable == true
    } else {
      step.enter(scheduler)
    }
    step.carried = carried
    if let details {
      if let retry = details.retry { step.makeDetails().retry = retry }
      if details.isAtomic { step.makeDetails().isAtomic = true }
      if let deadline = details.inheritedDeadline { step.makeDetails().linkedDeadline = deadline }
    }
    // Only a gate rejects. A list that has begun would be left half done, for its own commits perhaps.
    if route._withUnsafeGuaranteedRef(\.endGate) != nil,
      sequence.hasStarted || details?.mayBeRejected == false
    {
      step.makeDetails().mayBeRejected = false
    }
    sequence.dispatcher.prepare(
      step, to: sequence.storeIdentifier, in: sequence.mode, on: thread)
    if !step.beginInline() { _ = step.makeDetails().withState { $0.start() } }
    return step
  }

  /// Continues once a step has ended on another thread; returns false if it has already ended.
  private func resume(after step: Dispatch, _ sequence: DispatchSequence) -> Bool {
    let waiter = Waiter {
      self.noteEnd(of: step, sequence)
      if !self.pause(sequence) { self.continueSequence() }
    }
    return step.makeDetails().wait(waiter)
  }

  private func noteEnd(of step: Dispatch, _ sequence: DispatchSequence) {
    yieldPoint(.closeRound, id.description)
    let details = makeDetails()
    details.withState { $0.endWork() }
    if step.details?.hasLostCommit == true { details.noteLoss() }
    // Dispatches of the step's blocks are cancelled with the sequence.
    adopt(step)
    sequence.append(step.result!)
  }

  /// Waits between two actions while the queue is suspended; its lane stays held.
  ///
  /// Returns false if the queue is not suspended.
  private func pause(_ sequence: DispatchSequence) -> Bool {
    guard sequence.isBetweenActions, isSchedulerSuspended else { return false }
    // Read before the pause: afterwards a cancellation may remove the dispatch from the scheduler.
    let scheduler = scheduler
    guard makeDetails().withState({ $0.pause() }) else { return false }
    scheduler.unpark(self)
    return true
  }

  static func endSequence(
    _ dispatch: inout Dispatch, on thread: ThreadState
  ) -> InlineEnd {
    yieldPoint(.complete, dispatch.id.description)
    let hasSucceeded = dispatch.completeSequence()
    dispatch.yieldBeforeEnd()
    // In this order: once there is no other reference, no other thread can make details.
    if hasSucceeded, isUniquelyReferencedForReuse(&dispatch), dispatch.isReusable {
      dispatch.clear()
      if dispatch.hasDetails { dispatch.releaseDetails() }
      return .reusable
    }
    dispatch.end(dispatch.sequenceResult)
    return .ended
  }

  /// Runs the completion and the hooks; returns whether all actions have finished.
  @inline(never)
  private func completeSequence() -> Bool {
    guard let sequence else { return false }
    if let details {
      details.settleDeadline(at: callSite)
      details.beginEnding()
      tellGate { sequenceResult }
    }
    if let completion = completion.take() {
      perform(nil) { completion.run(sequenceResult) }
    }
    sequence.dispatchEnded(self, self.result ?? sequenceResult)
    return sequence.hasSucceeded
  }

  var sequenceResult: DispatchResult {
    let error: (any Error)? = isCancelled ? CancellationError() : nil
    return sequence.unsafelyUnwrapped.result(of: id, cutBy: error, refusal: refusal)
  }
}
