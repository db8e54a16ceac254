/// The actions of one dispatch.
///
/// Each is a dispatch of its own, and they run one after the other, on the scheduler of the whole.
final class DispatchSequence: @unchecked Sendable {
  // because mutable state belongs to the step that runs, and the rest is constant
  let dispatcher: Dispatcher
  let mode: Dispatcher.Mode
  let storeIdentifier: String?
  private let dispatched: [any ActionType]
  /// The dispatch whose result this one returns; only for a sequence without actions.
  private let joined: Dispatch?
  /// The session of the list as a whole; nil before it is prepared, and if nothing watches it and no hook is called for
  /// it.
  @exclusivity(unchecked) private(set) var session: MiddlewareSession?
  private let continuesOnFailure: Bool
  /// The actions that have ended.
  ///
  /// Changes under the lock of the dispatch's details, under which a deadline reads it.
  @exclusivity(unchecked) private var steps: [DispatchResult] = []
  /// Whether the last step has succeeded.
  @exclusivity(unchecked) private var mayContinue = true
  /// The enclosing context on its caller's thread, while it runs there.
  @exclusivity(unchecked) var outer: DispatchContext?
  /// The route that accepts or refuses it, and counts it as outstanding; nil once it has ended.
  @exclusivity(unchecked) private(set) var acceptance: Unmanaged<Route>?
  /// The gate at which the sequence waits after its last action; nil for most.
  @exclusivity(unchecked) private(set) var endGate: EndGate?
  /// The number of the last commit before the sequence came to that gate.
  @exclusivity(unchecked) private(set) var commitNumber: UInt64 = 0
  /// Whether a store of an action may have read or changed something, so that there is something to wait for.
  @exclusivity(unchecked) private(set) var hasStarted = false

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
    (self.dispatcher, self.mode) = (dispatcher, mode)
  }

  /// Begins the session of the list as a whole; nil if it has none.
  func beginSession(of dispatch: Dispatch) -> MiddlewareSession? {
    session = acceptance.unsafelyUnwrapped._withUnsafeGuaranteedRef { route -> MiddlewareSession? in
      let chain = route.chain
      guard joined == nil, !route.hasFailed, !chain.wholes.isEmpty || chain.watcher != nil
      else { return nil }
      return MiddlewareSession.begin(
        listOf: dispatched, .passUnretained(chain), of: dispatch, mode, by: dispatcher)
    }
    return session
  }

  deinit {
    takeAcceptance()?._withUnsafeGuaranteedRef { $0.end() }
  }

  /// Takes the route that counts it as outstanding, for the caller to end.
  func takeAcceptance() -> Unmanaged<Route>? { acceptance.take() }

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

  /// The next action; nil at the end, and after an action that did not succeed.
  var next: (any ActionType)? {
    guard isBetweenActions, continuesOnFailure || mayContinue, rejection == nil else { return nil }
    return dispatched[steps.count]
  }

  /// Notes the time before its first action is dispatched.
  func noteFirstStart() {
    if steps.isEmpty, let session { session.noteFirstStart(at: session.now) }
  }

  /// Makes the sequence wait at a gate after its last action.
  func wait(at gate: EndGate) {
    if endGate == nil { (endGate, commitNumber) = (gate, gate.commitNumber) }
  }

  typealias Progress = (steps: [DispatchResult], actionCount: Int)

  /// The actions that have ended, and the number of all, for an end at the deadline.
  var progress: Progress { (steps, dispatched.count) }

  func append(_ result: DispatchResult) {
    if steps.isEmpty { steps.reserveCapacity(dispatched.count) }
    steps.append(result)
    if result.mayHaveStarted { hasStarted = true }
    mayContinue = result.isSuccess
  }

  /// Returns the result of the sequence.
  ///
  /// - Parameter error: The reason for an end before the last action, if no action has failed.
  func result(
    of id: DispatchID, cutBy error: (any Error)?, refusal: DispatchError? = nil
  ) -> DispatchResult {
    if let joined {
      let error: (any Error)? = refusal ?? rejection ?? error
      if error == nil, let result = joined.result { return result }
      return DispatchResult(dispatchID: id, error: error ?? CancellationError())
    }
    let results = steps
    return DispatchResult(
      dispatchID: id, steps: results, skippedActionCount: dispatched.count - results.count,
      error: refusal ?? rejection ?? results.lazy.compactMap(\.error).first
        ?? (isBetweenActions ? error : nil))
  }
}

extension Dispatch {
  /// Runs action after action, until one has to wait or none is left.
  func runSequence(on thread: ThreadState) -> InlineEnd {
    guard runSteps(on: thread), !awaitsSaving() else { return .continues }
    endSequence()
    return .ended
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
    if isSynchronous || carried != nil || DispatchContext.enclosing(thread.run, on: thread) != nil {
      return perform(nil) { runSteps(of: sequence, on: thread) }
    }
    return thread.within(self) { runSteps(of: sequence, on: thread) }
  }

  /// Continues after an action that another thread has ended.
  private func continueSequence() {
    // Retained, because nothing else does after the end.
    let scheduler = scheduler
    if case .continues = runSequence(on: .current) { return }
    scheduler.release(self)
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
      sequence.noteFirstStart()
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
    step.setUp(.make(on: thread), parent: id, to: route, nil, callSite)
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
    let (details, result) = (makeDetails(), step.result!)
    details.withState {
      $0.endWork()
      sequence.append(result)
    }
    if step.details?.hasLostCommit == true { details.noteLoss() }
    // Dispatches of the step's blocks are cancelled with the sequence.
    adopt(step)
    sequence.session?.stepEnded()
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

  /// Completes a sequence; the caller releases its place.
  func endSequence() {
    details?.settleDeadline(at: callSite)
    complete(sequenceResult, hasLeft: true)
  }

  var sequenceResult: DispatchResult {
    let error: (any Error)? = isCancelled ? CancellationError() : nil
    return sequence.unsafelyUnwrapped.result(of: id, cutBy: error, refusal: refusal)
  }
}
