// Children of a store of handlers take actions of any type.
extension ParentStore where Action == HandledAction {
  /// Dispatches an action to the child's store alone, through its dispatcher.
  ///
  /// Behaves like `Store.dispatch(_:mode:options:then:)`.
  @inlinable
  @discardableResult
  public func dispatch(
    _ action: some ActionType, mode: Dispatcher.Mode = .async, options: DispatchOptions = [],
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    asOptionalChild.part.actions.dispatch(
      HandledAction(action), mode, options, completion.map(Completion.withResult),
      CallSite(fileID, line))
  }

  /// Dispatches an action to the child's store alone, in the caller's own task.
  ///
  /// Behaves like `Store.send(_:mode:options:then:)`.
  @inlinable
  @discardableResult
  public nonisolated(nonsending) func send<Sent: ActionType>(
    _ action: Sent, mode: Dispatcher.SendMode = .async, options: DispatchOptions = [],
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> ReplyResult<Sent.Reply> {
    ReplyResult(
      await asOptionalChild.part.actions.send(
        HandledAction(action), mode.mode, options, completion.map(Completion.withResult),
        CallSite(fileID, line)))
  }
}
