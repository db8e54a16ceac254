/// Several actions of one dispatch, each a dispatch by itself, one after the other where the whole runs.
final class DispatchSequence: TransactionScope, @unchecked Sendable {
  // because what changes belongs to the step that runs
  let dispatcher: Dispatcher
  let storeIdentifier: String?
  let mode: Dispatcher.Mode
  let actions: [any ActionType]
  /// The dispatch whose result it has, of one without actions.
  private let joined: Dispatch?
  private let middlewares: [any DispatchMiddleware]
  private let watchers: [any DispatchWatcher]
  /// Where something watches it, until its end.
  @exclusivity(unchecked) private var trace: DispatchTrace?
  private let continuesOnFailure: Bool
  @exclusivity(unchecked) private var steps: [Step] = []
  /// Of a dispatch with a time limit, where its steps are noted.
  @exclusivity(unchecked) var limited: DispatchDetails?
  /// Whether none of them failed, and whether the last one did not.
  @exclusivity(unchecked) private var isSuccess = true
  @exclusivity(unchecked) private var mayContinue = true
  /// The context around it on its caller's thread, while it runs there.
  @exclusivity(unchecked) var outer: DispatchContext?
  /// By which it was accepted, or not, and counts as under way.
  private let acceptance: Unmanaged<Route>
  /// By the dispatcher's clock, where there are middlewares: when it was dispatched, and when its first action was.
  private let began: Int64
  @exclusivity(unchecked) private var startedAt = Int64.max

  /// How an action ended.
  private enum Step {
    /// It finished, without a record.
    case finished(DispatchHandle)
    indirect case ended(DispatchResult)

    var result: DispatchResult {
      switch self {
      case .finished(let handle): handle.resultIfEnded.unsafelyUnwrapped
      case .ended(let result): result
      }
    }
  }

  init(
    of actions: [any ActionType], to storeIdentifier: String?, in mode: Dispatcher.Mode,
    continuesOnFailure: Bool, by dispatcher: Dispatcher, _ chain: MiddlewareChain?,
    joining other: Dispatch? = nil, on thread: ThreadState
  ) {
    acceptance = dispatcher.route(to: WorkAcceptance.self, identifier: nil, on: thread)
    let isAccepted = acceptance._withUnsafeGuaranteedRef { !$0.hasFailed }
    let middlewares = isAccepted ? chain?.wholes ?? [] : []
    watchers = isAccepted ? chain?.watchers ?? [] : []
    self.actions = actions
    self.storeIdentifier = storeIdentifier
    self.mode = mode
    self.continuesOnFailure = continuesOnFailure
    self.dispatcher = dispatcher
    joined = other
    self.middlewares = middlewares
    began = middlewares.isEmpty ? 0 : dispatcher.clock.nanoseconds
  }

  /// Runs nothing, and ends as another dispatch does, which it waits for.
  convenience init(
    joining other: Dispatch, in mode: Dispatcher.Mode, by dispatcher: Dispatcher,
    on thread: ThreadState
  ) {
    self.init(
      of: [], to: nil, in: mode, continuesOnFailure: false, by: dispatcher, nil, joining: other,
      on: thread)
  }

  deinit {
    acceptance._withUnsafeGuaranteedRef { $0.end() }
  }

  /// What it counts in as under way.
  var generation: DispatchGeneration {
    acceptance._withUnsafeGuaranteedRef(\.presentGeneration)
  }

  /// Why none of its actions runs.
  private var rejection: DispatchError? { acceptance._withUnsafeGuaranteedRef(\.failure) }

  var isEmpty: Bool { actions.isEmpty }

  /// Whether another action follows one that was dispatched.
  var isBetweenActions: Bool { steps.count < actions.count }

  /// Whether all of its actions were dispatched, and none failed.
  var hasSucceeded: Bool {
    isSuccess && !isBetweenActions && rejection == nil && joined == nil
  }

  /// The action that is next; nil at the end, and after one that did not succeed.
  var next: (any ActionType)? {
    guard isBetweenActions, continuesOnFailure || mayContinue, rejection == nil else { return nil }
    return actions[steps.count]
  }

  /// Its first action is about to be dispatched.
  func start() {
    if !middlewares.isEmpty, steps.isEmpty { startedAt = dispatcher.clock.nanoseconds }
  }

  func append(_ result: DispatchResult) {
    append(.ended(result), result.isSuccess)
  }

  /// Adds an action that has ended; mostly without a record.
  func append(_ handle: DispatchHandle) {
    if let dispatch = handle.dispatch { return append(dispatch.result!) }
    append(.finished(handle), true)
  }

  private func append(_ step: Step, _ isSuccess: Bool) {
    if steps.isEmpty { steps.reserveCapacity(actions.count) }
    steps.append(step)
    if let limited { limited.note(step.result) }
    if let trace { trace.stepEnded(at: dispatcher.clock.nanoseconds) }
    mayContinue = isSuccess
    self.isSuccess = self.isSuccess && isSuccess
  }

  /// - Parameter error: Why it ends before its last action, where no action has failed.
  func result(
    of id: TransactionID, cutBy error: (any Error)?, refusal: DispatchError? = nil
  ) -> DispatchResult {
    if let joined { return result(of: joined, id, refusal ?? rejection ?? error) }
    let results = steps.map(\.result)
    return DispatchResult(
      transaction: id, steps: results, skippedActionCount: actions.count - results.count,
      error: refusal ?? rejection ?? results.lazy.compactMap(\.error).first
        ?? (isBetweenActions ? error : nil))
  }
}

extension DispatchSequence {
  /// What another one has ended with, where that was waited for.
  private func result(
    of joined: Dispatch, _ id: TransactionID, _ error: (any Error)?
  ) -> DispatchResult {
    if error == nil, let result = joined.result { return result }
    return DispatchResult(transaction: id, error: error ?? CancellationError())
  }

  func dispatchBegan(_ dispatch: Dispatch) {
    for middleware in middlewares { middleware.dispatchWillBegin(info(of: dispatch)) }
  }

  /// Lets other threads look at the dispatch from now on, which therefore has details, and its scheduler.
  func watch(_ dispatch: Dispatch) {
    if watchers.isEmpty { return }
    _ = dispatch.makeDetails()
    let trace = DispatchTrace(
      dispatch, actions, isSequence: true, mode, caller: mode.isSync ? outer?.dispatch : nil,
      at: dispatcher.clock.nanoseconds)
    self.trace = trace
    for watcher in watchers { watcher.watch(trace, of: dispatcher) }
  }

  func dispatchEnded(_ dispatch: Dispatch, _ result: @autoclosure () -> DispatchResult) {
    defer { if let trace = trace.take() { for watcher in watchers { watcher.forget(trace) } } }
    guard !middlewares.isEmpty else { return }
    let result = result()
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
  ///
  /// - Parameter dispatch: The caller's only reference.
  static func runSequence(_ dispatch: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    guard let sequence = dispatch.sequence else { return .ended }
    var hasEnded = false
    dispatch.perform(nil) { hasEnded = dispatch.runSteps(of: sequence, on: thread) }
    return hasEnded ? end(&dispatch, sequence, on: thread) : .continues
  }

  /// Goes on after an action that another thread has ended.
  private func continueSequence() {
    // Kept, since nothing else does after the end.
    let scheduler = scheduler
    var dispatch = self
    if case .continues = Self.runSequence(&dispatch, on: .current) { return }
    scheduler.release(dispatch)
  }

  private func runSteps(of sequence: DispatchSequence, on thread: ThreadState) -> Bool {
    let retry = details?.retry
    while !isCancelled, let action = sequence.next {
      sequence.start()
      let route = sequence.dispatcher.route(
        to: type(of: action), identifier: sequence.storeIdentifier, on: thread)
      if let reduced = retry == nil ? reduce(action, along: route, on: thread) : nil {
        yieldPoint(.closeRound, id.description)
        sequence.append(reduced)
      } else {
        guard run(action, along: route, of: sequence, on: thread) else { return false }
      }
      if pause(sequence) { return false }
    }
    return true
  }

  /// Takes an action to the one store that responds, and only reduces, without a record; nil, and nothing done,
  /// where more follows.
  private func reduce(
    _ action: any ActionType, along route: Unmanaged<Route>, on thread: ThreadState
  ) -> DispatchHandle? {
    guard route._withUnsafeGuaranteedRef(\.isReduction) else { return nil }
    return withAddress(of: action) {
      InlineRun.reduce($0, along: route, callSite, on: thread)
    }
  }

  /// Runs the dispatch of an action; false where it goes on.
  private func run(
    _ action: any ActionType, along route: Unmanaged<Route>, of sequence: DispatchSequence,
    on thread: ThreadState
  ) -> Bool {
    var step = makeStep(action, along: route, of: sequence, on: thread)
    if makeDetails().withState({ $0.begin(.step(step)) }) { step.cancel() }
    if case .continues = Self.runInline(&step, on: thread), resume(after: step, sequence) {
      return false
    }
    noteEnd(of: step, sequence)
    Self.recycle(step, on: thread)
    return true
  }

  /// The dispatch of one action, which runs where the sequence does; no other thread can start it.
  private func makeStep(
    _ action: any ActionType, along route: Unmanaged<Route>, of sequence: DispatchSequence,
    on thread: ThreadState
  ) -> Dispatch {
    let step = thread.spareDispatches.pop() ?? Dispatch()
    step.begin(.make(on: thread), parent: id, to: route, nil, callSite)
    step.put(action)
    if isSynchronous {
      // The record may have been used before, elsewhere.
      step.leaveScheduler()
      step.makeDetails().scheduler = scheduler
    } else {
      step.enter(scheduler)
    }
    step.carry(carried?.copy())
    if let retry = details?.retry { step.makeDetails().retry = retry }
    sequence.dispatcher.prepare(
      step, to: sequence.storeIdentifier, in: sequence.mode, on: thread)
    if !step.beginInline() { _ = step.makeDetails().withState { $0.start() } }
    return step
  }

  /// Goes on once a step has ended on another thread; false where it has ended already.
  private func resume(after step: Dispatch, _ sequence: DispatchSequence) -> Bool {
    step.makeDetails().withState { life in
      life.wait {
        self.noteEnd(of: step, sequence)
        if !self.pause(sequence) { self.continueSequence() }
      }
    }
  }

  private func noteEnd(of step: Dispatch, _ sequence: DispatchSequence) {
    yieldPoint(.closeRound, id.description)
    let details = makeDetails()
    details.withState { $0.endWork() }
    // What the step's blocks have dispatched is cancelled with the sequence.
    if let ended = step.details, ended.hasChildren { join(step, ended, details) }
    sequence.append(step.result!)
  }

  /// Waits for a suspended queue between two actions, where its lane stays held; false where none is suspended.
  private func pause(_ sequence: DispatchSequence) -> Bool {
    guard sequence.isBetweenActions else { return false }
    // Read before the pause: from then on, a cancellation may take it out of the scheduler.
    let scheduler = scheduler
    guard scheduler.isSuspended, makeDetails().withState({ $0.pause() }) else { return false }
    scheduler.unpark(self)
    return true
  }

  private static func end(
    _ dispatch: inout Dispatch, _ sequence: DispatchSequence, on thread: ThreadState
  ) -> InlineEnd {
    yieldPoint(.complete, dispatch.id.description)
    dispatch.details?.beginEnding()
    let error: (any Error)? = dispatch.isCancelled ? CancellationError() : nil
    let refusal = dispatch.refusal
    var result: DispatchResult {
      sequence.result(of: dispatch.id, cutBy: error, refusal: refusal)
    }
    if let completion = dispatch.takeCompletion() {
      dispatch.perform(nil) { completion.run(result) }
    }
    sequence.dispatchEnded(dispatch, dispatch.result ?? result)
    dispatch.yieldBeforeEnd()
    // In this order: once there is no other reference, no other thread can make details.
    if sequence.hasSucceeded, isUniquelyReferencedForReuse(&dispatch), dispatch.isReusable {
      dispatch.clear()
      if dispatch.hasRest { dispatch.recycleRest(on: thread) }
      return .reusable
    }
    dispatch.end(result)
    return .ended
  }
}
