/// The actions of one dispatch.
///
/// Each is a dispatch of its own, and they run one after the other, on the scheduler of the whole.
final class DispatchSequence: @unchecked Sendable {
  // because mutable state belongs to the step that runs, and the rest is constant
  let dispatcher: Dispatcher
  let mode: Dispatcher.Mode
  private let subject: DispatchSubject
  /// The dispatch whose result this one returns; only for a sequence without actions.
  private let joined: Dispatch?
  /// The actions that have ended.
  ///
  /// Changes under the lock of the dispatch's details, under which a deadline reads it.
  @exclusivity(unchecked) private var steps: [DispatchResult] = []
  /// Whether the last step has succeeded.
  @exclusivity(unchecked) private var mayContinue = true
  /// The gate at which the sequence waits after its last action; nil for most.
  @exclusivity(unchecked) private(set) var endGate: EndGate?
  /// The number of the last commit before the sequence came to that gate.
  @exclusivity(unchecked) private(set) var commitNumber: UInt64 = 0
  /// Whether an action has read or changed something behind that gate, so that there is something to wait for.
  @exclusivity(unchecked) private(set) var hasStarted = false
  /// Whether the gate has rejected the first action, so that none runs.
  @exclusivity(unchecked) private var isRejected = false

  /// - Parameter joined: For a sequence without actions, the dispatch that it waits for, and as which it ends.
  init(
    _ subject: DispatchSubject, joining joined: Dispatch? = nil, in mode: Dispatcher.Mode,
    by dispatcher: Dispatcher
  ) {
    (self.subject, self.joined) = (subject, joined)
    (self.dispatcher, self.mode) = (dispatcher, mode)
  }

  var unretainedDispatcher: Unmanaged<Dispatcher> { .passUnretained(dispatcher) }

  var actions: [any ActionType] { subject.actions }

  var storeIdentifier: String? { subject.storeIdentifier }

  var isEmpty: Bool { actions.isEmpty }

  /// Whether no action has ended.
  var isAtFirstAction: Bool { steps.isEmpty }

  /// Whether another action follows the last dispatched one.
  var isBetweenActions: Bool { steps.count < actions.count }

  /// Whether no action follows the running one.
  var isAtLastAction: Bool { steps.count + 1 == actions.count }

  /// The next action; nil at the end, and after an action that did not succeed.
  var next: (any ActionType)? {
    let mayGoOn = mayContinue || subject.continuesOnFailure && !isRejected
    return isBetweenActions && mayGoOn ? actions[steps.count] : nil
  }

  /// Makes the sequence wait at a gate after its last action.
  func wait(at gate: EndGate) {
    if endGate == nil { (endGate, commitNumber) = (gate, gate.commitNumber) }
  }

  /// Notes that a store of the running action has started, behind the gate.
  func noteStart() { hasStarted = true }

  /// Notes that the gate rejects the first action: no store runs.
  func reject() { isRejected = true }

  typealias Progress = (steps: [DispatchResult], actionCount: Int)

  /// The actions that have ended, and the number of all, for an end at the deadline.
  var progress: Progress { (steps, actions.count) }

  func append(_ result: DispatchResult) {
    if steps.isEmpty { steps.reserveCapacity(actions.count) }
    steps.append(result)
    mayContinue = result.isSuccess
  }

  /// Returns the result of the sequence.
  ///
  /// - Parameter error: The reason for an end before the last action, if no action has failed.
  func result(
    of id: DispatchID, cutBy error: (any Error)?, refusal: DispatchError? = nil
  ) -> DispatchResult {
    if let joined {
      let error: (any Error)? = refusal ?? error
      if error == nil, let result = joined.result { return result }
      return DispatchResult(dispatchID: id, error: error ?? CancellationError())
    }
    let results = steps
    return DispatchResult(
      dispatchID: id, steps: results, skippedActionCount: actions.count - results.count,
      error: refusal ?? results.lazy.compactMap(\.error).first
        ?? (isBetweenActions ? error : nil))
  }
}

extension Dispatch {
  /// Runs action after action, until one has to wait or none is left.
  func runSequence(on thread: ThreadState) -> InlineEnd {
    guard let sequence else { fatalError("A dispatch of several actions has a sequence.") }
    // In a context of their own, whose outer one is a constant: tasks of a step may read it after this thread has moved on.
    let haveEnded = perform(nil, on: thread) { runSteps(of: sequence, on: thread) }
    guard haveEnded, !awaitsSaving() else { return .continues }
    endSequence()
    return .ended
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
      if sequence.isAtFirstAction, let session { session.noteFirstStart(at: session.now) }
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
        details.withState { $0.hasPersistentStore = true }
      } else {
        sequence.wait(at: gate)
      }
    }
    var step = makeStep(action, along: route, of: sequence, on: thread)
    if makeDetails().withState({ $0.begin(.step(step)) }) { cancelWork(.step(step)) }
    // The sequence's own values are bound already.
    let bound = step.carried === carried ? nil : step.carried
    let end = CapturedTaskLocal.bind(bound) { Self.runInline(&step, on: thread) }
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
      if let deadline = details.inheritedDeadline {
        step.makeDetails().withState { $0.linkedDeadline = deadline }
      }
    }
    // Only a gate rejects. A list that has begun would be left half done, for its own commits perhaps.
    if route._withUnsafeGuaranteedRef(\.endGate) != nil,
      !sequence.isAtFirstAction || details?.mayBeRejected == false
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
    session?.stepEnded()
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
