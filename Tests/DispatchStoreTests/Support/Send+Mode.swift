import DispatchStore

// Tests that go through all modes send with each but `.sync`, which has no `SendMode`.

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

extension Dispatcher.SendMode {
  static let everyMode = Dispatcher.Mode.everyMode.compactMap(Dispatcher.SendMode.init)
  static let laneModes = Dispatcher.Mode.laneModes.compactMap(Dispatcher.SendMode.init)
}
