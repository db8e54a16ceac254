import DispatchStore

// Scenarios draw a mode for `dispatch` and `send` alike; a drawn send never has `.sync`.

extension Dispatcher {
  @_disfavoredOverload
  @discardableResult
  nonisolated(nonsending) func send<Action: ActionType>(
    _ action: Action, to storeIdentifier: String? = nil, mode: Mode,
    options: DispatchOptions = [], then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> ReplyResult<Action.Reply> {
    await send(
      action, to: storeIdentifier, mode: SendMode(mode)!, options: options, then: completion,
      fileID: fileID, line: line)
  }

  /// Sends an action, or dispatches it and awaits the end; `.sync` is always dispatched.
  nonisolated(nonsending) func result<Action: ActionType>(
    of action: Action, to storeIdentifier: String? = nil, mode: Mode,
    options: DispatchOptions = [], isSent: Bool,
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> DispatchResult {
    guard isSent, let sendMode = SendMode(mode) else {
      return await dispatch(
        action, to: storeIdentifier, mode: mode, options: options, then: completion,
        fileID: fileID, line: line
      ).result
    }
    return await send(
      action, to: storeIdentifier, mode: sendMode, options: options, then: completion,
      fileID: fileID, line: line
    ).result
  }
}

extension Store {
  @_disfavoredOverload
  @discardableResult
  nonisolated(nonsending) func send(
    _ action: Action, mode: Dispatcher.Mode, options: DispatchOptions = [],
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> ReplyResult<Action.Reply> {
    await send(
      action, mode: Dispatcher.SendMode(mode)!, options: options, fileID: fileID, line: line)
  }
}
