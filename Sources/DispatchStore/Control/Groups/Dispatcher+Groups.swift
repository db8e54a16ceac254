extension Dispatcher {
  /// Dispatches the steps of a group, one after the other or concurrently.
  ///
  /// The first steps are dispatched before this returns, on the caller's thread. If one waits for a unit of a limit,
  /// that thread blocks, as in `dispatch`. Each later step is dispatched once the earlier ones and their completions
  /// have ended. That happens on a thread of the concurrent queue, even if that is suspended; no thread waits meanwhile.
  ///
  /// Each step is a dispatch of its own: a group holds no lane from step to step. The steps' parent is the dispatch
  /// inside which the group was dispatched, or else an identifier of the group. Carried task-local values are those
  /// of the call. A group dispatched by a block is cancelled with the block's dispatch. May be called from any code;
  /// inside an exclusive section the group begins when that is left.
  ///
  /// - Parameters:
  ///   - group: The steps.
  ///   - options: A time limit, names, limits of the whole group, `cancelsPrevious`, `skippedIfInFlight` and
  ///     `detached`. They apply as to a dispatch that lasts from the first step to the end of the compensations.
  ///     Others have no effect; give them to steps.
  ///   - completion: Runs exactly once at the end, after all compensations; on the caller's thread if the group ends
  ///     before this returns.
  ///   - onProgress: Gets the number of ended steps, after each one in turn, and the number of all steps. Never
  ///     called twice at once, and not after the completion has begun. As in the completion, dispatches made there are not
  ///     cancelled with the group.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  /// - Returns: A handle to await, or to cancel; releasing it cancels nothing.
  @discardableResult
  public func dispatch(
    _ group: ActionGroup,
    options: DispatchOptions = DispatchOptions(),
    then completion: (@Sendable (ActionGroupResult) -> Void)? = nil,
    onProgress: (@Sendable (_ ended: Int, _ total: Int) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> ActionGroupHandle {
    let thread = ThreadState.current
    let call = GroupCall(
      of: self, withDefaults(options), at: CallSite(fileID, line), on: thread,
      then: completion)
    let run = GroupRun(group, call, onProgress)
    run.begin(on: thread)
    return ActionGroupHandle(run: run)
  }

  /// Runs the steps of a group in the caller's own task, and those of concurrent groups in child tasks.
  ///
  /// Each step is sent, as by `send(_:to:mode:options:then:)`. Task-local values and priority are the task's, no
  /// thread is woken if its lane is idle, and none is blocked. A step with a list of actions is dispatched and
  /// awaited. Cancelling the task cancels the steps that run, and starts nothing more but compensations, which are
  /// not cancelled; this returns after them. A detached step isn't either, without an option or default that may cancel
  /// the group. Inside an operation that holds the lane which a step needs, the step fails with `wouldDeadlock`.
  ///
  /// With the option `detached`, the group has a task of its own, on threads of the library, with the task-local values
  /// and the priority of yours. Cancelling your task does not cancel it. Your task awaits it.
  ///
  /// - Parameters:
  ///   - group: The steps.
  ///   - options: The options of the whole group, as for a dispatched one. Steps have its time limit, too, also if it is a
  ///     default one. With names or `cancelsPrevious`, the steps are dispatched, and awaited by the task.
  ///   - onProgress: Gets the number of ended steps, after each one in turn, and the number of all steps. Never
  ///     called twice at once. Dispatches made there are not cancelled with the group.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  /// - Returns: The outcome of the group; `get()` throws its first error.
  @discardableResult
  public nonisolated(nonsending) func send(
    _ group: ActionGroup,
    options: DispatchOptions = DispatchOptions(),
    onProgress: (@Sendable (_ ended: Int, _ total: Int) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> ActionGroupResult {
    let callSite = CallSite(fileID, line)
    let options = withDefaults(options)
    let deadline = deadline(options, options.control, at: callSite)
    // Before a limit takes notice of a group that starts nothing.
    var standIn = standIn(for: options, at: callSite)
    var admitted = options
    let isDetached = options.control?.isDetached == true
    if standIn?.isCancelled == false, isDetached || !Task.isCancelled {
      let admission = options.control?.send(to: self, at: callSite, until: deadline)
      admitted.control = admission ?? admitted.control
      if let admission, admission.mustWait {
        // Once it has its units it is accepted or refused again, as any sent dispatch.
        if let standIn { standIn.end(DispatchResult(dispatchID: standIn.id)) }
        await admission.waitUntilReady(for: self, at: callSite)
        standIn = self.standIn(for: options, at: callSite)
      }
    }
    let unit = GroupUnit(
      standIn, admitted, by: self, at: callSite, inside: DispatchContext.ofTask,
      isCancelled: !isDetached && Task.isCancelled)
    // If the group does not begin, nothing has taken its units.
    admitted.control?.giveBack()
    let dispatchesSteps = options.control?.isCancellable == true
    let task = GroupTask(group, by: self, as: unit, dispatchesSteps: dispatchesSteps, onProgress)
    // Also while it awaits other tasks, the caller is one that waits.
    let wait = TaskWait.begin()
    defer { wait?.end() }
    return isDetached ? await task.runDetached() : await task.run()
  }

  private func standIn(for options: DispatchOptions, at callSite: CallSite) -> Dispatch? {
    let thread = ThreadState.current
    return Dispatch.standIn(
      forGroup: options, by: self, at: callSite,
      parent: DispatchContext.currentTransaction(on: thread), on: thread)
  }
}
