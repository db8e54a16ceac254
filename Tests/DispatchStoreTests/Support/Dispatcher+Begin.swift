import DispatchStore

extension Dispatcher {
  /// Dispatches without waiting for the end, with `.sync` on a thread of its own; or sends.
  func begin(
    _ script: Script, _ mode: Mode, _ options: DispatchOptions, sends: Bool = false,
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Task<DispatchResult, Never> {
    begin(
      action: script, mode, options, sends: sends, then: completion, fileID: fileID, line: line)
  }

  func begin(
    action: some ActionType, _ mode: Mode, _ options: DispatchOptions, sends: Bool = false,
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Task<DispatchResult, Never> {
    if sends {
      return Task {
        await send(
          action, mode: mode, options: options, then: completion, fileID: fileID, line: line
        ).result
      }
    }
    @Sendable func start() -> DispatchHandle {
      dispatch(action, mode: mode, options: options, then: completion, fileID: fileID, line: line)
    }
    if mode == .sync { return Task { await onOwnThread { start().resultIfEnded! } } }
    let handle = start()
    return Task { await handle.result }
  }
}
