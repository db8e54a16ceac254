public import DispatchStore

extension TestStore {
  /// Sends an action to all stores that respond, awaits its end, and asserts its changes.
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - mode: The mode of the dispatch, by default the test store's mode.
  ///   - end: The expected outcome.
  ///   - change: Changes the previous model into the expected one. Nil if the model does not change.
  ///   - fileID: The file to show failures in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  nonisolated(nonsending) public func send(
    _ action: Action, mode: Dispatcher.Mode? = nil, ending end: ExpectedEnd = .success,
    _ change: ((inout Model) throws -> Void)? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async {
    let place = SourcePlace(fileID, filePath, line, column)
    await start(action, mode: mode, at: place).ends(end, change, at: place)
  }

  /// Sends an action to all stores that respond, and asserts its effects step by step.
  ///
  /// Use it for an action that changes the model more than once, or whose operation the test continues.
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - mode: The mode of the dispatch, by default the test store's mode.
  ///   - fileID: The file to show failures in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  /// - Returns: The step whose changes and end the test asserts.
  public func start(
    _ action: Action, mode: Dispatcher.Mode? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) -> TestStep<Model, Action> {
    start(action, mode: mode, at: SourcePlace(fileID, filePath, line, column))
  }

  private func start<Sent: ActionType>(
    _ action: Sent, mode: Dispatcher.Mode?, at place: SourcePlace
  ) -> TestStep<Model, Action> {
    let name = Diff.line(action: action)
    if progress.read(\.open.isEmpty) {
      reportUnasserted(before: name, at: place)
    }
    let handle = dispatcher.dispatch(
      action: action, mode: mode ?? self.mode, fileID: place.fileID, line: place.line)
    progress.change { progress in
      progress.sent.insert(handle.dispatchID)
      progress.open[handle.dispatchID] = name
    }
    // The handle tells of refusals, for which no hook is called, and of deadlines before the stores have ended.
    handle.whenEnded { [journal = recorder.journal, id = handle.dispatchID] result in
      journal.change { $0.endedEarly(id, result) }
    }
    return TestStep(testStore: self, handle: handle, name: name)
  }
}

// Actions of any type, for a store of handlers.
extension TestStore where Action == HandledAction {
  /// Sends an action to all stores that respond, awaits its end, and asserts its changes.
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - mode: The mode of the dispatch, by default the test store's mode.
  ///   - end: The expected outcome.
  ///   - change: Changes the previous model into the expected one. Nil if the model does not change.
  ///   - fileID: The file to show failures in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  nonisolated(nonsending) public func send(
    _ action: some ActionType, mode: Dispatcher.Mode? = nil, ending end: ExpectedEnd = .success,
    _ change: ((inout Model) throws -> Void)? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async {
    let place = SourcePlace(fileID, filePath, line, column)
    await start(action, mode: mode, at: place).ends(end, change, at: place)
  }

  /// Sends an action to all stores that respond, and asserts its effects step by step.
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - mode: The mode of the dispatch, by default the test store's mode.
  ///   - fileID: The file to show failures in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  /// - Returns: The step whose changes and end the test asserts.
  public func start(
    _ action: some ActionType, mode: Dispatcher.Mode? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) -> TestStep<Model, Action> {
    start(action, mode: mode, at: SourcePlace(fileID, filePath, line, column))
  }
}
