/// A group in flight, which continues from the ends of its steps: no thread and no task waits for them.
final class GroupRun: Sendable {
  private typealias Move = GroupState.Move

  private let progress: GroupProgress
  private let guarded: Locked<GroupWaits>
  /// Nil if nobody follows what goes on by itself.
  private let continuations: Continuations?

  init(_ group: ActionGroup, _ call: GroupCall, _ report: GroupProgress.Report?) {
    guarded = Locked(GroupWaits(call))
    progress = GroupProgress(of: group, report)
    continuations = call.dispatcher.pool.continuations
  }

  /// Begins the group on the calling thread, and follows it until a step has to end elsewhere.
  ///
  /// In an exclusive section the group begins once that is left, since code of the program makes actions and gets
  /// results.
  func begin(on thread: ThreadState) {
    if thread.exclusive != nil {
      thread.atSectionEnd { isUndone in
        if isUndone { self.cancel() }
        self.begin(isAtCall: false)
      }
    } else {
      begin(isAtCall: DispatchContext.currentTransaction(on: thread) != nil)
    }
  }

  private func begin(isAtCall: Bool) {
    let call = call
    let (dispatcher, options, callSite) = (call.dispatcher, call.options, call.callSite)
    let standIn = Dispatch.standIn(
      forGroup: options, by: dispatcher, at: callSite, parent: call.parent, on: .current)
    let unit = GroupUnit(
      standIn, options, by: dispatcher, at: callSite, inside: nil,
      isCancelled: progress.withState { $0.isCancelled(0) })
    guarded.withLock { $0.unit = unit }
    noteCancellation()
    follow(progress.withState { $0.begin() }, isAtCall: isAtCall)
  }

  // Both are there until the last step, or its compensation, has ended.
  private var call: GroupCall { guarded.withLock { $0.call.unsafelyUnwrapped } }
  private var unit: GroupUnit { guarded.withLock { $0.unit.unsafelyUnwrapped } }

  /// Skips the rest if the dispatch that stands for the group was cancelled, or has timed out.
  private func noteCancellation() {
    if unit.isCancelled { cancel(because: unit.cause) }
  }

  var result: ActionGroupResult? { guarded.withLock(\.result) }

  // MARK: Moves

  /// Follows a move and its successors, until steps have to end elsewhere.
  ///
  /// Open moves are kept here, not on the stack: a group of steps that end at once may be long.
  ///
  /// - Parameter isAtCall: Whether this is the call that dispatched the group, in whose context actions are made: waits
  ///   there are seen.
  private func follow(_ first: Move, isAtCall: Bool) {
    continuations?.begin()
    defer { continuations?.end() }
    var moves = [first]
    while let move = moves.popLast() {
      switch move {
      case .run(let step):
        if let next = run(step, compensates: false, isAtCall) { moves.append(next) }
      case .compensate(let step):
        if let next = run(step, compensates: true, isAtCall) { moves.append(next) }
      case .fork(let group):
        branch(of: group, &moves)
      case .join(let group):
        cancel(progress.withState { $0.join(group) })
        // Begins further branches, unless an open move does.
        if moves.last != .fork(group) { moves.append(.fork(group)) }
      case .end:
        if progress.end(by: perform) { finish() }
      }
    }
  }

  private func branch(of group: Int, _ moves: inout [Move]) {
    switch progress.withState({ $0.branch(of: group) }) {
    case .start(let move): moves += [.fork(group), move]
    case .close(let move): moves.append(move)
    case .wait: break
    }
  }

  /// Dispatches a step or a compensation.
  ///
  /// Returns the next move if that has ended already.
  private func run(_ index: Int, compensates: Bool, _ isAtCall: Bool) -> Move? {
    yieldPoint(.advanceGroup)
    guarded.withLock { $0.begin(index, isCompensation: compensates) }
    // A cancellation that comes after this finds that the step has begun.
    if !compensates, let next = progress.withState({ $0.skipIfCancelled(index) }) {
      guarded.withLock { $0.end(index) }.resume()
      return next
    }
    let handle: DispatchHandle
    switch dispatch(index, compensates, isAtCall) {
    case .dispatched(let dispatched): handle = dispatched
    case .none(let end):
      guarded.withLock { $0.end(index) }.resume()
      return ended(index, compensates, end)
    }
    // The compensation follows the step's block, even if the step has timed out before.
    let isUndoneIfBegun = progress.nodes[index].undo?.ifBegun == true
    // A dispatch without a record has ended.
    guard let dispatch = handle.dispatch, isUndoneIfBegun || !dispatch.hasEnded else {
      guarded.withLock { $0.end(index) }.resume()
      return ended(index, compensates, GroupStepEnd(handle.resultIfEnded!))
    }
    continuations?.add(dispatch)
    let whenEnded = { @Sendable [self] in
      dispatch.whenEnded { [self] in dispatchEnded(dispatch, index, compensates) }
    }
    if isUndoneIfBegun {
      dispatch.at(.over, whenEnded)
    } else {
      whenEnded()
    }
    yieldPoint(.advanceGroup)
    switch guarded.withLock({ $0.keep(handle, of: index) }) {
    case .runs(let changes, let isCancelled):
      changes.resume()
      if isCancelled { handle.cancel() }
    case .ended(let result):
      continuations?.remove(dispatch.id)
      return ended(index, compensates, GroupStepEnd(result, ofStores: dispatch.resultOfStores))
    }
    return nil
  }

  /// Keeps the result of a dispatch that ends, on the thread that ends it.
  ///
  /// That thread does not continue the group: it may hold a lane, or be a caller's.
  private func dispatchEnded(_ dispatch: Dispatch, _ index: Int, _ compensates: Bool) {
    let result = dispatch.result!
    yieldPoint(.advanceGroup)
    let (isLeft, changes) = guarded.withLock { $0.end(index, result) }
    changes.resume()
    if isLeft { return }
    call.dispatcher.pool.resume { [self] in
      let end = GroupStepEnd(result, ofStores: dispatch.resultOfStores)
      follow(ended(index, compensates, end), isAtCall: false)
      continuations?.remove(dispatch.id)
    }
  }

  private enum Dispatched {
    case dispatched(DispatchHandle)
    case none(GroupStepEnd)
  }

  private func dispatch(_ index: Int, _ compensates: Bool, _ isAtCall: Bool) -> Dispatched {
    let (call, unit) = (call, unit)
    let dispatcher = call.dispatcher
    func dispatch() -> Dispatched {
      let (step, made) = progress.make(index, compensates: compensates)
      switch made {
      case .ready(let work):
        return .dispatched(
          unit.dispatching {
            let options = dispatcher.options(
              of: step, isDetachable: compensates, in: unit.findable)
            return dispatcher.dispatch(work, of: step, options)
          })
      case .none(let end):
        return .none(end)
      }
    }
    return isAtCall ? dispatch() : call.perform(in: unit.context, dispatch)
  }

  private func ended(_ index: Int, _ compensates: Bool, _ end: GroupStepEnd) -> Move {
    noteCancellation()
    let (move, isOver) = progress.end(index, compensates: compensates, end, by: perform)
    if isOver { finish() }
    return move
  }

  /// Calls a closure of the program as code of the group, with the carried values.
  private func perform(_ body: () -> Void) {
    let (call, unit) = (call, unit)
    call.perform(in: nil) { unit.perform(body) }
  }

  private func finish() {
    let (call, unit) = (call, unit)
    let result = unit.result(of: progress.state)
    yieldPoint(.advanceGroup)
    guarded.withLock { $0.beginEnd() }.resume()
    unit.stepsEnded()
    if let completion = call.completion { perform { completion(result) } }
    unit.end(result) { [self] in
      yieldPoint(.advanceGroup)
      guarded.withLock { $0.publish(result) }
    }
    yieldPoint(.advanceGroup)
    let changes = guarded.withLock { $0.finish(result) }
    // Released outside of the lock, since that may run code of the program.
    withExtendedLifetime((call, unit)) {}
    changes.resume()
  }

  // MARK: Calls from outside

  /// Cancels the steps that run, but no compensations, and starts nothing more but these.
  ///
  /// - Parameter cause: The reason; nil for a cancellation.
  func cancel(because cause: (any Error)? = nil) {
    cancel(progress.withState { $0.cancel(because: cause) })
  }

  private func cancel(_ elements: Range<Int>?) {
    guard let elements else { return }
    yieldPoint(.advanceGroup)
    for handle in guarded.withLock({ $0.cancel(elements) }) { handle.cancel() }
  }

  /// Calls back with the result; at once if the group has ended.
  func whenEnded(_ body: @escaping @Sendable (ActionGroupResult) -> Void) {
    if let result = guarded.withLock({ $0.await(body) }) { body(result) }
  }

  /// - Parameter context: The context of the block that waits for the task.
  func awaitResult(in context: DispatchContext?) async -> ActionGroupResult {
    if context == nil, result == nil {
      await TaskWait.suspend { resume in whenEnded { _ in resume() } }
    }
    while true {
      switch guarded.withLock({ $0.toAwait() }) {
      case .nothing(let result):
        return result
      case .dispatch(let handle):
        // The engine's own wait, which is refused if that dispatch needs a resource that the block holds.
        let result = await handle.result
        if !handle.hasEnded, let error = result.error {
          return ActionGroupResult(refused: error, progress.state)
        }
      case .change(let seen):
        await change(after: seen)
      }
    }
  }

  private func change(after seen: Int) async {
    // The thread that blocks until this task continues may wait for that queue, as at the end of a dispatch.
    let queue = guarded.withLock(\.call)?.dispatcher.pool.sharedQueue
    queue?.beginWait()
    await TaskWait.suspend { resume in
      if !guarded.withLock({ $0.await(resume, after: seen) }) { resume() }
    }
    queue?.endWait()
  }
}

extension Dispatcher {
  /// Dispatches a step with options that are made of the step's.
  func dispatch(
    _ work: GroupStep.Ready, of step: GroupStep, _ options: DispatchOptions
  ) -> DispatchHandle {
    switch work {
    case .action(let action):
      return dispatch(action, to: step.storeIdentifier, step.mode.mode, options, nil, step.callSite)
    case .actions(let actions):
      return enqueue(
        actions, to: step.storeIdentifier, mode: step.mode.mode, options: options, nil,
        step.callSite)
    }
  }

  /// The options with which a step, or a compensation, is dispatched or sent.
  ///
  /// - Parameters:
  ///   - isDetachable: Whether the step may outlive its group; if not, its option `detached` has no effect.
  ///   - group: The group's context, if searches are to see that it waits for the step before that begins.
  func options(
    of step: GroupStep, isDetachable: Bool, in group: DispatchContext?
  ) -> DispatchOptions {
    let options = withoutDefaults(step.options)
    let isDetached = options.control?.isDetached == true
    if group == nil, isDetachable || !isDetached { return options }
    return options.controlled {
      $0.isDetached = isDetached && isDetachable
      $0.group = group
    }
  }
}
