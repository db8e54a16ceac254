/// A group that runs in its caller's task, with its concurrent steps in child tasks.
final class GroupTask: Sendable {
  private typealias Move = GroupState.Move

  private let dispatcher: Dispatcher
  private let progress: GroupProgress
  private let unit: GroupUnit
  /// Whether others may cancel the group.
  ///
  /// If so, its steps are dispatched, since only the caller cancels dispatches that its task sends.
  private let dispatchesSteps: Bool
  /// The group's deadline, which the steps that are sent get, too: the group's own timer does not reach them.
  private let deadline: Deadline?

  /// Whether the group's options may cancel it, and with it its detached steps.
  private var mayBeCancelled: Bool { dispatchesSteps || deadline != nil }

  init(
    _ group: ActionGroup, by dispatcher: Dispatcher, as unit: GroupUnit, dispatchesSteps: Bool,
    _ report: GroupProgress.Report?
  ) {
    self.dispatcher = dispatcher
    self.unit = unit
    self.dispatchesSteps = dispatchesSteps
    deadline = unit.deadline
    progress = GroupProgress(of: group, report)
  }

  /// Runs the group in a task of its own, which is not cancelled with the caller's.
  nonisolated(nonsending) func runDetached() async -> ActionGroupResult {
    let executor = OperationExecutor(dispatcher.pool)
    executor.context = unit.context
    return await Task(executorPreference: executor) { await self.run() }.value
  }

  nonisolated(nonsending) func run() async -> ActionGroupResult {
    if let context = unit.context {
      await DispatchContext.$inTask.withValue(context) {
        context.begin()
        await runSteps()
        context.end()
      }
    } else {
      await runSteps()
    }
    let result = unit.result(of: progress.state)
    unit.end(result)
    return result
  }

  private nonisolated(nonsending) func runSteps() async {
    noteCancellation(in: 0)
    await withCancellationHandler {
      await follow(progress.withState { $0.begin() })
    } onCancel: {
      // At once: the time limit may pass before the running step ends. In a dispatch, the stand-in knows why the task was
      // cancelled.
      if !unit.isInsideDispatch { progress.withState { _ = $0.cancel() } }
    }
  }

  /// Follows the moves of a branch until it joins, or the whole group has ended.
  private nonisolated(nonsending) func follow(_ first: Move) async {
    var move = first
    while true {
      switch move {
      case .run(let step):
        move = await run(step, compensates: false)
      case .compensate(let step):
        move = await run(step, compensates: true)
      case .fork(let group):
        move = await fork(group)
      case .join, .end:
        return
      }
    }
  }

  /// Runs a concurrent group in child tasks, one for each of its branches.
  private nonisolated(nonsending) func fork(_ group: Int) async -> Move {
    await withTaskGroup(of: Void.self) { tasks in
      while true {
        noteCancellation(in: group)
        switch progress.withState({ $0.branch(of: group) }) {
        case .start(let move):
          tasks.addTask { await self.follow(move) }
        case .wait:
          await tasks.next()
          if progress.withState({ $0.join(group) }) != nil { tasks.cancelAll() }
        case .close(let move):
          return move
        }
      }
    }
  }

  private nonisolated(nonsending) func run(_ index: Int, compensates: Bool) async -> Move {
    let (step, made) = progress.make(index, compensates: compensates)
    let isUndoneIfBegun = progress.nodes[index].undo?.ifBegun == true
    // Runs to its end although the task is cancelled.
    let outlivesTask = !mayBeCancelled && step.options.control?.isDetached == true
    let end: GroupStepEnd
    switch made {
    case .none(let known):
      end = known
    case .ready(.action(let action))
    where compensates || !dispatchesSteps && !(isUndoneIfBegun && outlivesTask):
      // A compensation is detached, so that it heeds no cancellation of the task. Its limits suspend the task. The wait for
      // it is known before it begins: refused later, it would go on beside the next one.
      let options =
        compensates
        ? dispatcher.options(of: step, isDetachable: true, in: unit.context)
        : options(of: step, in: nil)
      end = GroupStepEnd(
        await dispatcher.send(
          action, to: step.storeIdentifier, step.mode.mode, options, nil, step.callSite))
    // A detached step may end at its time limit before its block, for which its compensation waits.
    case .ready(let work):
      end = await self.end(
        of: dispatch(work, of: step), outlivesTask: outlivesTask, awaitingStores: isUndoneIfBegun)
    }
    noteCancellation(in: index)
    return progress.end(index, compensates: compensates, end, by: unit.perform).move
  }

  private func options(of step: GroupStep, in group: DispatchContext?) -> DispatchOptions {
    let options = dispatcher.options(of: step, isDetachable: !mayBeCancelled, in: group)
    guard let deadline else { return options }
    return options.controlled { $0.deadlines.append { _, _ in deadline } }
  }

  /// Dispatches a step; the task waits for its units first, unless others may cancel the group meanwhile.
  private nonisolated(nonsending) func dispatch(
    _ work: GroupStep.Ready, of step: GroupStep
  ) async -> DispatchHandle {
    var options = options(of: step, in: unit.findable)
    if !dispatchesSteps {
      if case .actions(let actions) = work { options.control = options.control?.ofList(actions) }
      options.control = await dispatcher.admission(options, step.mode.mode, at: step.callSite)
    }
    return dispatcher.dispatch(work, of: step, options)
  }

  /// Awaits a step's dispatch, which is cancelled with the task unless it outlives that.
  ///
  /// - Parameter awaitingStores: Whether to await its block, too: the step is undone once that has begun. The block may
  ///   end after the step's time limit, or after the wait for the step was refused.
  private nonisolated(nonsending) func end(
    of handle: DispatchHandle, outlivesTask: Bool, awaitingStores: Bool
  ) async -> GroupStepEnd {
    let result = await withCancellationHandler {
      await handle.result
    } onCancel: {
      // On another thread: cancelling may run code of the program.
      if !outlivesTask { dispatcher.pool.submit(end: .step { handle.cancel() }) }
    }
    // If the wait was refused, the dispatch is cancelled, as one that is sent would be.
    if !handle.hasEnded { handle.cancel() }
    if awaitingStores { await handle.dispatch?.awaitStores() }
    return GroupStepEnd(result, ofStores: handle.dispatch?.resultOfStores)
  }

  /// Skips the rest if the caller's task, or the dispatch that stands for the group, was cancelled.
  ///
  /// No other cancellation reaches a task of the group before it is in the state.
  private func noteCancellation(in element: Int) {
    guard Task.isCancelled || unit.isCancelled else { return }
    let cause = unit.cause
    progress.withState { if !$0.isCancelled(element) { _ = $0.cancel(because: cause) } }
  }
}

extension Dispatcher {
  /// Returns the admission of a dispatch that follows, once the task has its units of limits.
  fileprivate nonisolated(nonsending) func admission(
    _ options: DispatchOptions, _ mode: Mode, at callSite: CallSite
  ) async -> DispatchAdmission? {
    pool.runSurplusEnds(on: .current)
    let control = control(options, mode)
    let deadline = deadline(options, control, at: callSite)
    guard let admission = control?.send(to: self, at: callSite, until: deadline) else {
      return options.control
    }
    if admission.mustWait { await admission.waitUntilReady(for: self, at: callSite) }
    return admission
  }
}

extension Dispatch {
  /// Waits until its stores have ended, which may be after its result; no search sees this wait.
  fileprivate nonisolated(nonsending) func awaitStores() async {
    // A thread that blocks until this task resumes may wait for that queue.
    let queue = DispatchContext.ofTask == nil ? nil : schedulerForWaits.sharedQueue
    queue?.beginWait()
    await TaskWait.suspend { at(.over, $0) }
    queue?.endWait()
  }
}
