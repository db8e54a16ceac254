// Children of a store of handlers take actions of any type.
extension ParentStore where Action == HandledAction {
  /// Dispatches an action to the store.
  ///
  /// Behaves like `Store.dispatch`, in every mode. The store's handler for the action handles it, whichever part that
  /// handler is for.
  @inlinable
  @discardableResult
  public func dispatch(
    _ action: some ActionType, mode: Dispatcher.Mode = .async,
    options: DispatchOptions = DispatchOptions(), then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    asOptionalChild.part.actions.dispatch(
      HandledAction(action),
      PartRequest(mode, options, completion.map(Completion.plain), fileID, line))
  }

  /// Dispatches an action to the store, and passes the result to the completion.
  @inlinable
  @discardableResult
  public func dispatch(
    _ action: some ActionType, mode: Dispatcher.Mode = .async,
    options: DispatchOptions = DispatchOptions(),
    then completion: @escaping @Sendable (DispatchResult) -> Void,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    asOptionalChild.part.actions.dispatch(
      HandledAction(action), PartRequest(mode, options, .withResult(completion), fileID, line))
  }

  /// Dispatches actions of any types to the store, one after the other.
  @inlinable
  @discardableResult
  public func dispatch(
    _ actions: [any ActionType], mode: Dispatcher.Mode = .serial,
    options: DispatchOptions = DispatchOptions(), then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    asOptionalChild.part.actions.dispatchAll(
      actions.map { HandledAction($0) },
      PartRequest(mode, options, completion.map(Completion.plain), fileID, line))
  }

  /// Dispatches an action to the store in the caller's own task.
  ///
  /// Behaves like `Store.send`.
  @inlinable
  @discardableResult
  public nonisolated(nonsending) func send(
    _ action: some ActionType, mode: Dispatcher.Mode = .async,
    options: DispatchOptions = DispatchOptions(),
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> DispatchResult {
    await asOptionalChild.part.actions.send(
      HandledAction(action),
      PartRequest(mode, options, completion.map(Completion.withResult), fileID, line))
  }

  /// Dispatches a replying action to the store in the caller's own task, and returns its reply with the result.
  ///
  /// Otherwise behaves like `send` without a reply.
  @inlinable
  @discardableResult
  public nonisolated(nonsending) func send<Replying: ReplyingAction>(
    _ action: Replying, mode: Dispatcher.Mode = .async,
    options: DispatchOptions = DispatchOptions(),
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> ReplyResult<Replying.Reply> {
    ReplyResult(
      await asOptionalChild.part.actions.send(
        HandledAction(action),
        PartRequest(mode, options, completion.map(Completion.withResult), fileID, line)))
  }
}
