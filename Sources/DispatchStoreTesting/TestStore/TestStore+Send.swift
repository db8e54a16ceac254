public import DispatchStore

extension TestStore {
  /// Sends an action to all stores that respond, awaits its end, and asserts what it changed.
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - mode: How to schedule it; by default as the test store was made.
  ///   - end: How it is expected to end.
  ///   - change: Changes the model before into the one that is expected; nil where it does not change.
  ///   - fileID: Where failures are shown, like the following.
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

  /// Sends an action to all stores that respond, and asserts what it does step by step.
  ///
  /// For an action that changes the model more than once, or that the test itself lets go on.
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - mode: How to schedule it; by default as the test store was made.
  ///   - fileID: Where failures are shown, like the following.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  /// - Returns: What to assert the changes and the end of.
  public func start(
    _ action: Action, mode: Dispatcher.Mode? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) -> TestStep<Model, Action> {
    start(action, mode: mode, at: SourcePlace(fileID, filePath, line, column))
  }

  private func start(
    _ action: Action, mode: Dispatcher.Mode?, at place: SourcePlace
  ) -> TestStep<Model, Action> {
    if progress.read(\.open.isEmpty) { reportWhatIsLeft(before: Diff.line(action), at: place) }
    let handle = dispatcher.dispatch(
      action: action, mode: mode ?? self.mode, fileID: place.fileID, line: place.line)
    progress.change { progress in
      progress.sent.insert(handle.transaction)
      progress.open.insert(handle.transaction)
    }
    return TestStep(testStore: self, handle: handle, name: Diff.line(action))
  }

  /// Watches another store too: each of its changes has to be asserted by `expect(in:)`.
  public func watch<OtherModel, OtherAction>(_ other: Store<OtherModel, OtherAction>) {
    let watch = StoreWatch(other, recorder)
    progress.change { progress in
      guard !progress.watches.contains(where: { $0.storeIdentity == watch.storeIdentity }) else {
        return
      }
      progress.watches.append(watch)
    }
  }

  /// Asserts what the last asserted action, or a change outside of dispatches, did to a watched store.
  ///
  /// - Parameters:
  ///   - other: The store under test, or one given to `watch(_:)`.
  ///   - change: Changes the model before into the one that is expected.
  ///   - fileID: Where failures are shown, like the following.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  public func expect<OtherModel, OtherAction>(
    in other: Store<OtherModel, OtherAction>,
    _ change: (inout OtherModel) throws -> Void,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) {
    let place = SourcePlace(fileID, filePath, line, column)
    let (watches, last) = progress.read { ($0.watches, $0.last) }
    let found = watches.lazy.compactMap { $0 as? StoreWatch<OtherModel, OtherAction> }
      .first { $0.store === other }
    guard let found else {
      return reporter.report(
        "Store \"\(other.identifier)\" is not watched. Call watch(_:) before its changes.",
        at: place)
    }
    // Where the last action did nothing there, a change outside of dispatches is meant.
    let cause = found.left.contains { $0.transaction == last } ? last : nil
    let action = cause.flatMap { id in recorder.journal.read { $0[id]?.action } }
    let (before, after) = found.advance(past: cause)
    let check = ChangeCheck(
      storeIdentifier: other.identifier,
      subject: action.map { Diff.line($0) } ?? "a change outside of dispatches",
      before: before, after: after, exhaustivity: exhaustivity)
    withoutActuallyEscaping(change) { change in
      if let failure = check.failure(of: change) { reporter.report(failure, at: place) }
    }
  }
}
