// Dispatching to children of a store of handlers: an action of any type.
extension ParentStore where Action == HandledAction {
  /// Dispatches an action to the store.
  ///
  /// As `Store.dispatch`, in every mode: the handler that the store has for it handles it, in whichever part.
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

  /// Dispatches an action to the store; the completion gets the result.
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

  /// Dispatches actions of any types, one after the other, to the store.
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
  /// As `Store.send`.
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

  /// Dispatches a replying action to the store in the caller's own task; the result has its reply.
  ///
  /// As the method for actions without replies, in all else.
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
