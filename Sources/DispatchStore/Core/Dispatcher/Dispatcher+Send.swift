extension Dispatcher {
  /// Dispatches an action in the caller's own task: a structured dispatch.
  ///
  /// What an `async` function uses. The task acquires the lane, at once where it is idle; else it suspends, and has
  /// its turn among all that was dispatched there, first in, first out. Reducers, hooks, observers and the completion
  /// run in the task, and so do `async` blocks: task-local values and priority are the task's, and cancelling the
  /// task cancels the dispatch. Blocks of stores that do not wait for each other are child tasks. A store that runs
  /// regardless is not cancelled with the task.
  ///
  /// With `options: .detached` the task only waits: the dispatch runs as `dispatch` would run it, and neither the task's
  /// cancellation nor that of the block around it, or its deadline, ends it. So a cancelled task cleans up.
  ///
  /// With `.async` it begins at once, and is not counted in the queue's width; suspending the queue holds it back
  /// in each mode but `mainThread`. With `mainThread` the task goes to the main actor for the dispatch, with the
  /// others it leaves that. No thread is blocked. Inside an operation that holds the lane which it needs it ends at
  /// once, with `wouldDeadlock`.
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - storeIdentifier: The only store to run; nil for all that respond.
  ///   - mode: Where and in which order the dispatch runs; not `.sync`.
  ///   - options: Further options.
  ///   - completion: Runs exactly once at the end, also after a failure.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  /// - Returns: How the dispatch ended, after its completion; `get()` throws its first error.
  /// - Precondition: The mode is not `.sync`, which `dispatch` has.
  @discardableResult
  @inlinable
  public nonisolated(nonsending) func send<Action: DispatchStore::ActionType>(
    _ action: Action, to storeIdentifier: String? = nil, mode: Mode = .async,
    options: DispatchStore::DispatchOptions = DispatchStore::DispatchOptions(),
    then completion: (@Sendable (DispatchStore::DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> DispatchStore::DispatchResult {
    await send(
      action, to: storeIdentifier, mode, options, completion.map(Completion.withResult),
      fileID, line)
  }

  /// Dispatches a replying action in the caller's own task; the result has the stores' replies.
  ///
  /// As the method for actions without replies, in all else.
  @discardableResult
  @inlinable
  public nonisolated(nonsending) func send<Action: DispatchStore::ReplyingAction>(
    _ action: Action, to storeIdentifier: String? = nil, mode: Mode = .async,
    options: DispatchStore::DispatchOptions = DispatchStore::DispatchOptions(),
    then completion: (@Sendable (DispatchStore::DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> DispatchStore::ReplyResult<Action.Reply> {
    DispatchStore::ReplyResult(
      await send(
        action, to: storeIdentifier, mode, options, completion.map(Completion.withResult), fileID,
        line))
  }

  /// Dispatches an action through the default dispatcher in the caller's own task, as its method does.
  @discardableResult
  @inlinable
  public static nonisolated(nonsending) func send<Action: DispatchStore::ActionType>(
    _ action: Action, to storeIdentifier: String? = nil, mode: Mode = .async,
    options: DispatchStore::DispatchOptions = DispatchStore::DispatchOptions(),
    then completion: (@Sendable (DispatchStore::DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> DispatchStore::DispatchResult {
    await `default`.send(
      action, to: storeIdentifier, mode, options, completion.map(Completion.withResult),
      fileID, line)
  }
}

extension Store {
  /// Dispatches an action to this store alone, in the caller's own task, through the dispatcher that it is registered
  /// with.
  ///
  /// As `Dispatcher.send(_:to:mode:options:then:)`. Without a dispatcher the completion runs here, and the result's
  /// error is `notRegistered`.
  @discardableResult
  @inlinable
  public nonisolated(nonsending) func send(
    _ action: Action, mode: Dispatcher.Mode = .async, options: DispatchOptions = DispatchOptions(),
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> DispatchResult {
    await send(
      any: action, mode, options, completion.map(Completion.withResult), fileID, line)
  }
}

extension Store where Action: ReplyingAction {
  /// Dispatches a replying action to this store alone, in the caller's own task; the result has its reply.
  ///
  /// As the method for actions without replies, in all else.
  @discardableResult
  @inlinable
  public nonisolated(nonsending) func send(
    _ action: Action, mode: Dispatcher.Mode = .async, options: DispatchOptions = DispatchOptions(),
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> ReplyResult<Action.Reply> {
    ReplyResult(
      await send(any: action, mode, options, completion.map(Completion.withResult), fileID, line))
  }
}

extension Dispatcher {
  /// Inlined into the caller, so that an action that ends at once is not copied, and takes no call of an `async`
  /// function.
  @inlinable
  @inline(__always)
  nonisolated(nonsending) func send<Action: DispatchStore::ActionType>(
    _ action: Action, to storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchStore::DispatchOptions, _ completion: Completion?, _ fileID: StaticString,
    _ line: UInt
  ) async -> DispatchStore::DispatchResult {
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
    case .waits(let wait):
      return await send(
        action, to: storeIdentifier, mode, options, completion, fileID, line, after: wait)
    }
  }

  /// The same once the dispatch may begin.
  @usableFromInline
  @inline(never)
  nonisolated(nonsending) func send<Action: DispatchStore::ActionType>(
    _ action: Action, to storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchStore::DispatchOptions, _ completion: Completion?, _ fileID: StaticString,
    _ line: UInt, after wait: AdmissionWait
  ) async -> DispatchStore::DispatchResult {
    var options = options
    options.control = await wait.ended()
    return await send(action, to: storeIdentifier, mode, options, completion, fileID, line)
  }

  /// The same on the main actor, or away from it.
  @usableFromInline
  nonisolated(nonsending) func sendElsewhere<Action: DispatchStore::ActionType>(
    _ action: Action, to storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchStore::DispatchOptions, _ completion: Completion?, _ fileID: StaticString,
    _ line: UInt
  ) async -> DispatchStore::DispatchResult {
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

  private func send<Action: DispatchStore::ActionType>(
    _ action: Action, to storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchStore::DispatchOptions, _ completion: Completion?, _ fileID: StaticString,
    _ line: UInt, after visit: MainQueueVisit?, on isolation: isolated (any Actor)?
  ) async -> DispatchStore::DispatchResult {
    visit?.end()
    return await send(action, to: storeIdentifier, mode, options, completion, fileID, line)
  }
}

extension Dispatcher.Mode {
  /// Whether what is sent with it runs where its caller is isolated.
  @usableFromInline
  func runs(on isolation: (any Actor)?) -> Bool {
    let isOnMain = isolation.map { $0 === MainActor.shared } ?? false
    return isOnMain == isMainThread
  }
}
