extension Dispatcher {
  /// Sends an action, and returns when the dispatch has ended.
  ///
  /// Suspends, never blocks a thread. Throws nothing: ask the result for `reply`. Cancelling your task cancels the
  /// dispatch, unless it is `.detached`.
  ///
  /// `Perform` handlers run in your task in their turn, or in tasks of their own if several run at once, or if a
  /// timeout or a name can cancel them. An `On` runs in your task, or on the lane's thread if the lane was busy.
  /// With `.mainThread`, the task moves to the main actor once it is its turn, and with any other mode away from there.
  /// An action that only reduces, sent from elsewhere with `.mainThread`, runs on the main queue without the task.
  ///
  /// Ends with `wouldDeadlock` inside a handler that holds the same lane. Suspending the queue holds it back, except in
  /// `.mainThread`. The queue's width does not limit it in `.async`.
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - storeIdentifier: The only store to run; nil for all that respond.
  ///   - mode: The thread and the order in which the dispatch runs.
  ///   - options: Further options.
  ///   - completion: Runs exactly once at the end, also after a failure.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  /// - Returns: The outcome of the dispatch, after its completion, with the stores' replies. `reply` and `get()`
  ///   throw its first error.
  @discardableResult
  @inlinable
  public nonisolated(nonsending) func send<Action: ActionType>(
    _ action: Action, to storeIdentifier: String? = nil, mode: SendMode = .async,
    options: DispatchOptions = [], then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> ReplyResult<Action.Reply> {
    ReplyResult(
      await send(
        action, to: storeIdentifier, mode.mode, options, completion.map(Completion.withResult),
        CallSite(fileID, line)))
  }

  /// Dispatches an action whose type is not known here, in the caller's own task.
  ///
  /// Behaves in all else like the method for a known type. Ask the result for replies by `reply(to:from:)`.
  @_disfavoredOverload
  @discardableResult
  public nonisolated(nonsending) func send(
    _ action: any ActionType, to storeIdentifier: String? = nil, mode: SendMode = .async,
    options: DispatchOptions = [], then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> DispatchResult {
    await send(
      action, to: storeIdentifier, mode.mode, options, completion.map(Completion.withResult),
      CallSite(fileID, line))
  }
}

extension Store {
  /// Dispatches an action to this store alone, through its dispatcher, in the caller's own task.
  ///
  /// Behaves like `Dispatcher.send(_:to:mode:options:then:)`. If the store has no dispatcher, the completion runs
  /// here, and the result's error is `notRegistered`.
  @discardableResult
  @inlinable
  public nonisolated(nonsending) func send(
    _ action: Action, mode: Dispatcher.SendMode = .async, options: DispatchOptions = [],
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> ReplyResult<Action.Reply> {
    ReplyResult(
      await send(
        any: action, mode.mode, options, completion.map(Completion.withResult),
        CallSite(fileID, line)))
  }
}

extension Dispatcher {
  /// Sends an action.
  ///
  /// Inlined into the caller, so that an action that ends at once is not copied and takes no call of an `async`
  /// function.
  @inlinable
  @inline(__always)
  nonisolated(nonsending) func send<Action: ActionType>(
    _ action: Action, to storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchOptions, _ completion: Completion?, _ callSite: CallSite
  ) async -> DispatchResult {
    let isElsewhere = !mode.runs(on: #isolation)
    if isElsewhere, !mode.isMainThread {
      return await sendFromMainActor(
        action, to: storeIdentifier, mode, options, completion, callSite)
    }
    let sent = withUnsafePointer(to: action) {
      beginSend(
        UnsafeRawPointer($0), of: type(of: action), to: storeIdentifier, mode, options, completion,
        callSite, isElsewhere: isElsewhere)
    }
    switch consume sent {
    case .ended(let result): return result
    case .underWay(let dispatch, let task): return await Dispatch.runToEnd(dispatch, in: task)
    case .detached(let dispatch): return await Dispatch.awaitEnd(of: dispatch)
    case .waits(let admission):
      return await send(
        action, to: storeIdentifier, mode, options, completion, callSite, by: admission)
    case .inSection(let end):
      return await send(
        action, to: storeIdentifier, mode, options, completion, callSite, afterSection: end)
    }
  }

  /// Sends an action once its admission control has waited.
  @usableFromInline
  @inline(never)
  nonisolated(nonsending) func send<Action: ActionType>(
    _ action: Action, to storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchOptions, _ completion: Completion?, _ callSite: CallSite,
    by admission: DispatchAdmission
  ) async -> DispatchResult {
    var options = options
    options.control = admission
    await admission.waitUntilReady(for: self, at: callSite)
    return await send(action, to: storeIdentifier, mode, options, completion, callSite)
  }

  /// Sends an action once the exclusive section has been left in which its task began.
  @usableFromInline
  @inline(never)
  nonisolated(nonsending) func send<Action: ActionType>(
    _ action: Action, to storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchOptions, _ completion: Completion?, _ callSite: CallSite,
    afterSection end: Eventual<Bool>
  ) async -> DispatchResult {
    let deadline = deadline(options, options.control, at: callSite)
    if await end.value {
      return refuseSend(
        of: type(of: action), to: storeIdentifier, with: CancellationError(), completion, callSite)
    }
    return await send(
      action, to: storeIdentifier, mode, options, completion, callSite, until: deadline,
      on: #isolation)
  }

  /// Sends an action of a task on the main actor in a mode that does not run there.
  @usableFromInline
  nonisolated(nonsending) func sendFromMainActor<Action: ActionType>(
    _ action: Action, to storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchOptions, _ completion: Completion?, _ callSite: CallSite
  ) async -> DispatchResult {
    if let end = ThreadState.current.sectionEnd() {
      return await send(
        action, to: storeIdentifier, mode, options, completion, callSite, afterSection: end)
    }
    // Time counts from the call, also until the task is where the dispatch runs.
    let deadline = deadline(options, options.control, at: callSite)
    return await send(
      action, to: storeIdentifier, mode, options, completion, callSite, until: deadline,
      on: nil)
  }

  /// Sends an action of a task that has waited, with the time that is left for the dispatch.
  private func send<Action: ActionType>(
    _ action: Action, to storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchOptions, _ completion: Completion?, _ callSite: CallSite,
    until deadline: Deadline?, on isolation: isolated (any Actor)?
  ) async -> DispatchResult {
    var options = options
    if let deadline {
      let left = deadline.time - clock.nanoseconds
      if left <= 0 {
        return refuseSend(
          of: type(of: action), to: storeIdentifier,
          with: DispatchError.timedOut(callSite, after: deadline.duration), completion, callSite)
      }
      (options.timeLimit, options.timeSpent) = (deadline.nanoseconds, deadline.nanoseconds - left)
    }
    return await send(action, to: storeIdentifier, mode, options, completion, callSite)
  }
}

extension Dispatcher.Mode {
  /// Whether a `send` with this mode runs in the caller's isolation.
  @usableFromInline
  func runs(on isolation: (any Actor)?) -> Bool {
    let isOnMain = isolation.map { $0 === MainActor.shared } ?? false
    return isOnMain == isMainThread
  }
}
