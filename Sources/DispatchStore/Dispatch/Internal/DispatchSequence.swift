/// Several actions of one dispatch, each a dispatch by itself, one after the other where the whole runs.
final class DispatchSequence: TransactionScope, @unchecked Sendable {
  // because `results` and `startedAt` belong to the step that runs
  let dispatcher: Dispatcher
  let storeIdentifier: String?
  let mode: Dispatcher.Mode
  let actions: [any ActionType]
  private let middlewares: [any DispatchMiddleware]
  private let continuesOnFailure: Bool
  private var results: [DispatchResult] = []
  /// By the dispatcher's clock, where there are middlewares: when it was dispatched, and when its first action was.
  private let began: Int64
  private var startedAt = Int64.max

  init(
    of actions: [any ActionType], to storeIdentifier: String?, in mode: Dispatcher.Mode,
    continuesOnFailure: Bool, by dispatcher: Dispatcher, _ middlewares: [any DispatchMiddleware]
  ) {
    self.actions = actions
    self.storeIdentifier = storeIdentifier
    self.mode = mode
    self.continuesOnFailure = continuesOnFailure
    self.dispatcher = dispatcher
    self.middlewares = middlewares
    began = middlewares.isEmpty ? 0 : dispatcher.clock.nanoseconds
  }

  var isEmpty: Bool { actions.isEmpty }

  /// Whether another action follows one that was dispatched.
  var isBetweenActions: Bool { results.count < actions.count }

  /// The action that is next; nil at the end, and after one that did not succeed.
  var next: (any ActionType)? {
    guard isBetweenActions, continuesOnFailure || results.last?.isSuccess != false else {
      return nil
    }
    return actions[results.count]
  }

  /// Its first action is about to be dispatched.
  func start() {
    if !middlewares.isEmpty, results.isEmpty { startedAt = dispatcher.clock.nanoseconds }
  }

  func append(_ result: DispatchResult) {
    results.append(result)
  }

  /// - Parameter error: Why it ends before its last action, where no action has failed.
  func result(of id: TransactionID, cutBy error: (any Error)?) -> DispatchResult {
    DispatchResult(
      transaction: id, steps: results, skippedActionCount: actions.count - results.count,
      error: results.lazy.compactMap(\.error).first ?? (isBetweenActions ? error : nil))
  }
}

extension DispatchSequence {
  func dispatchBegan(_ dispatch: Dispatch) {
    for middleware in middlewares { middleware.dispatchWillBegin(info(of: dispatch)) }
  }

  func dispatchEnded(_ dispatch: Dispatch, _ result: DispatchResult) {
    guard !middlewares.isEmpty else { return }
    var info = info(of: dispatch)
    info.setTimes(began: began, started: startedAt, ended: dispatcher.clock.nanoseconds)
    for middleware in middlewares.reversed() { middleware.dispatchDidEnd(info, result: result) }
  }

  private func info(of dispatch: Dispatch) -> DispatchInfo {
    DispatchInfo(
      id: dispatch.id, dispatcher: dispatcher, parent: dispatch.parent, actions: actions,
      isSequence: true, mode: mode, callSite: dispatch.callSite, scope: self)
  }
}

extension Dispatch {
  /// Runs action after action, until one has to wait or none is left.
  func runSequence(on thread: ThreadState) {
    guard let details, let sequence = details.sequence else { return }
    var hasEnded = false
    perform(nil) { hasEnded = runSteps(of: sequence, details, on: thread) }
    guard hasEnded else { return }
    complete(sequence.result(of: id, cutBy: isCancelled ? CancellationError() : nil))
  }

  private func runSteps(
    of sequence: DispatchSequence, _ details: DispatchDetails, on thread: ThreadState
  ) -> Bool {
    while !isCancelled, let action = sequence.next {
      sequence.start()
      var step = makeStep(action, of: sequence, details, on: thread)
      if details.withState({ $0.begin(.step(step)) }) { step.cancel() }
      if case .continues = Self.runInline(&step, on: thread), resume(after: step, sequence) {
        return false
      }
      if !mayContinue(after: step, sequence) { return false }
      Self.recycle(step, on: thread)
    }
    return true
  }

  /// The dispatch of one action, which runs where the sequence does; no other thread can start it.
  private func makeStep(
    _ action: any ActionType, of sequence: DispatchSequence, _ details: DispatchDetails,
    on thread: ThreadState
  ) -> Dispatch {
    let step = thread.spareDispatches.pop() ?? Dispatch()
    let dispatcher = sequence.dispatcher
    let route = dispatcher.route(
      to: type(of: action), identifier: sequence.storeIdentifier, on: thread)
    step.begin(.make(on: thread), parent: id, to: route, nil, callSite)
    step.put(action)
    if isSynchronous {
      // The record may have been used before, elsewhere.
      step.leaveScheduler()
      step.makeDetails().scheduler = scheduler
    } else {
      step.enter(scheduler)
    }
    if !details.taskLocals.isEmpty { step.makeDetails().taskLocals = details.taskLocals }
    dispatcher.prepare(step, action, to: sequence.storeIdentifier, in: sequence.mode, on: thread)
    if !step.beginInline() { _ = step.makeDetails().withState { $0.start() } }
    return step
  }

  /// Goes on once a step has ended on another thread; false where it has ended already.
  private func resume(after step: Dispatch, _ sequence: DispatchSequence) -> Bool {
    step.makeDetails().withState { life in
      life.wait {
        if self.mayContinue(after: step, sequence) { self.runSequence(on: .current) }
      }
    }
  }

  /// Notes the result of a step.
  ///
  /// A suspended queue stops a sequence between two actions; its lane stays held.
  private func mayContinue(after step: Dispatch, _ sequence: DispatchSequence) -> Bool {
    yieldPoint(.closeRound, id.description)
    makeDetails().withState { $0.endWork() }
    sequence.append(step.result!)
    // Read before the pause: from then on, a cancellation may take it out of the scheduler.
    let scheduler = scheduler
    guard sequence.isBetweenActions, scheduler.isSuspended else { return true }
    makeDetails().withState { $0.pause() }
    scheduler.unpark(self)
    return false
  }
}
