// Used by children; `Store` has its own methods of these names.
extension ParentStore {
  /// The identifier of the store.
  public var identifier: String { asOptionalChild.part.root.storage.identifier }

  /// The number of the store's commits so far, whichever part they changed.
  public var version: UInt64 {
    let (storage, thread) = (asOptionalChild.part.root.storage, ThreadState.current)
    ExclusiveSection.check(storage, "read", on: thread)
    storage.noteRead(on: thread)
    return storage.withLock { _ in storage.version }
  }

  /// Dispatches an action to the store, converted to the store's own action.
  ///
  /// Behaves like `Store.dispatch`, in every mode. The store's reducer handles the action with the `PartReducer` or
  /// `ForEachReducer` for this child's part. If the part is missing by then, the dispatch ends with `partMissing`.
  @inlinable
  @discardableResult
  public func dispatch(
    _ action: Action, mode: Dispatcher.Mode = .async,
    options: DispatchOptions = DispatchOptions(), then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    asOptionalChild.part.actions.dispatch(
      action, PartRequest(mode, options, completion.map(Completion.plain), fileID, line))
  }

  /// Dispatches an action to the store, converted to the store's own action, and passes the result to the completion.
  @inlinable
  @discardableResult
  public func dispatch(
    _ action: Action, mode: Dispatcher.Mode = .async,
    options: DispatchOptions = DispatchOptions(),
    then completion: @escaping @Sendable (DispatchResult) -> Void,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    asOptionalChild.part.actions.dispatch(
      action, PartRequest(mode, options, .withResult(completion), fileID, line))
  }

  /// Dispatches actions to the store, one after the other, converted to the store's own actions.
  @inlinable
  @discardableResult
  public func dispatch(
    _ actions: [Action], mode: Dispatcher.Mode = .serial,
    options: DispatchOptions = DispatchOptions(), then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    asOptionalChild.part.actions.dispatchAll(
      actions, PartRequest(mode, options, completion.map(Completion.plain), fileID, line))
  }

  /// Dispatches actions to the store, one after the other, and passes the result to the completion.
  @inlinable
  @discardableResult
  public func dispatch(
    _ actions: [Action], mode: Dispatcher.Mode = .serial,
    options: DispatchOptions = DispatchOptions(),
    then completion: @escaping @Sendable (DispatchResult) -> Void,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    asOptionalChild.part.actions.dispatchAll(
      actions, PartRequest(mode, options, .withResult(completion), fileID, line))
  }

  /// Dispatches an action to the store in the caller's own task, converted to the store's own action.
  ///
  /// Behaves like `Store.send`.
  @inlinable
  @discardableResult
  public nonisolated(nonsending) func send(
    _ action: Action, mode: Dispatcher.Mode = .async, options: DispatchOptions = DispatchOptions(),
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> DispatchResult {
    await asOptionalChild.part.actions.send(
      action, PartRequest(mode, options, completion.map(Completion.withResult), fileID, line))
  }
}

extension ParentStore where Action: ReplyingAction {
  /// Dispatches a replying action to the store in the caller's own task, and returns its reply with the result.
  ///
  /// The reply is available only if it has this action's reply type. Otherwise behaves like `send` without a reply.
  @inlinable
  @discardableResult
  public nonisolated(nonsending) func send(
    _ action: Action, mode: Dispatcher.Mode = .async, options: DispatchOptions = DispatchOptions(),
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> ReplyResult<Action.Reply> {
    ReplyResult(
      await asOptionalChild.part.actions.send(
        action, PartRequest(mode, options, completion.map(Completion.withResult), fileID, line)))
  }
}
