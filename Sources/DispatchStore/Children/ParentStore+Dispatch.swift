// For children; a store has methods of these names itself.
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

  /// Dispatches an action to the store, as the store's own action that it stands for.
  ///
  /// As `Store.dispatch`, in every mode. The store's reducer handles it: a `PartReducer`, or a `ForEachReducer`, for
  /// the part that this is a child for. Where the part is gone by then, these end the dispatch with `partMissing`.
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

  /// Dispatches an action to the store, as the store's own action that it stands for; the completion gets the result.
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

  /// Dispatches actions, one after the other, to the store, as the store's own actions that they stand for.
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

  /// Dispatches actions, one after the other, to the store; the completion gets the result.
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

  /// Dispatches an action to the store in the caller's own task, as the store's own action that it stands for.
  ///
  /// As `Store.send`.
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
  /// Dispatches a replying action to the store in the caller's own task; the result has its reply.
  ///
  /// As the method for actions without replies, in all else. Replies reach it that are of this action's type.
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
