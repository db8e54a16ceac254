extension Dispatcher {
  /// Dispatches an action in the caller's own task: a structured dispatch.
  ///
  /// Use it from `async` functions. If the lane is idle, the task acquires it at once, and all code runs in the task,
  /// with its task-local values and its priority. If the lane is busy, the dispatch has its turn, first in, first out.
  /// An action that only reduces then runs on the lane's thread, with the carried task-local values alone, and the task
  /// is resumed with the result. Any other action resumes the task in its turn, and `async` blocks run in the task;
  /// blocks of stores that do not wait for each other in child tasks. If the store runs regardless, or if a timeout, a
  /// name or `cancelsPrevious` can cancel the dispatch, the block gets a task of its own. Cancelling the caller's task
  /// cancels the dispatch. Stores that run regardless start even so, once any store has started, and are not cancelled
  /// then; an `async` block of theirs that runs already is cancelled as any other.
  ///
  /// With `options: .detached` the task only waits, and the dispatch runs as if by `dispatch`. Neither cancelling the
  /// task or the enclosing block nor the block's deadline ends the dispatch. So a cancelled task can still clean up.
  ///
  /// With `.async` the dispatch begins at once, and does not count towards the queue's width. Suspending the queue
  /// holds back dispatches of every mode except `mainThread`. With `mainThread` the task moves to the main actor for
  /// the dispatch; with other modes it leaves the main actor. No thread is blocked. If the enclosing operation holds
  /// the lane that `send` needs, the dispatch ends at once with `wouldDeadlock`.
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
        fileID, line))
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
      any: action, to: storeIdentifier, mode.mode, options, completion.map(Completion.withResult),
      fileID, line)
  }

  /// Opens the action.
  private nonisolated(nonsending) func send<Action: ActionType>(
    any action: Action, to storeIdentifier: String?, _ mode: Mode, _ options: DispatchOptions,
    _ completion: Completion?, _ fileID: StaticString, _ line: UInt
  ) async -> DispatchResult {
    await send(action, to: storeIdentifier, mode, options, completion, fileID, line)
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
        any: action, mode.mode, options, completion.map(Completion.withResult), fileID, line))
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
    _ options: DispatchOptions, _ completion: Completion?, _ fileID: StaticString,
    _ line: UInt
  ) async -> DispatchResult {
    guard mode.runs(on: #isolation) else {
      return await sendElsewhere(
        action, to: storeIdentifier, mode, options, completion, fileID, line)
    }
    let sent = withUnsafePointer(to: action) {
      begin(
        UnsafeRawPointer($0), of: type(of: action), to: storeIdentifier, mode, options, completion,
        fileID, line)
    }
    switch consume sent {
    case .ended(let result): return result
    case .underWay(let dispatch): return await Dispatch.runToEnd(dispatch)
    case .isQueued(let queued): return await queued.result()
    case .detached(let dispatch): return await Dispatch.awaitEnd(of: dispatch)
    case .waits(let admission):
      return await send(
        action, to: storeIdentifier, mode, options, completion, fileID, line, by: admission)
    }
  }

  /// Sends an action once its admission control has waited.
  @usableFromInline
  @inline(never)
  nonisolated(nonsending) func send<Action: ActionType>(
    _ action: Action, to storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchOptions, _ completion: Completion?, _ fileID: StaticString,
    _ line: UInt, by admission: DispatchAdmission
  ) async -> DispatchResult {
    var options = options
    options.control = admission
    await admission.waitUntilReady(for: self, at: CallSite(fileID: fileID, line: line))
    return await send(action, to: storeIdentifier, mode, options, completion, fileID, line)
  }

  /// Sends an action on the main actor, or away from it, as its mode requires.
  @usableFromInline
  nonisolated(nonsending) func sendElsewhere<Action: ActionType>(
    _ action: Action, to storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchOptions, _ completion: Completion?, _ fileID: StaticString,
    _ line: UInt
  ) async -> DispatchResult {
    let visit: MainQueueVisit?
    do {
      let callSite = CallSite(fileID: fileID, line: line)
      visit = mode.isMainThread ? try MainQueueVisit(of: self, at: callSite) : nil
    } catch {
      return refuse(error, type(of: action), to: storeIdentifier, completion, fileID, line)
    }
    return await send(
      action, to: storeIdentifier, mode, options, completion, fileID, line, after: visit,
      on: mode.isMainThread ? MainActor.shared : nil)
  }

  private func send<Action: ActionType>(
    _ action: Action, to storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchOptions, _ completion: Completion?, _ fileID: StaticString,
    _ line: UInt, after visit: MainQueueVisit?, on isolation: isolated (any Actor)?
  ) async -> DispatchResult {
    visit?.end()
    return await send(action, to: storeIdentifier, mode, options, completion, fileID, line)
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
