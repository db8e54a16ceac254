public import DispatchStore

extension TestStore {
  /// Asserts that this action was the next to follow, awaits its end, and asserts its changes.
  ///
  /// Waits until the action is dispatched, and gives up when the dispatcher is idle. With `exhaustivity` off, skips
  /// other actions before it. If the action times out, waits until its stores have ended.
  ///
  /// - Parameters:
  ///   - action: The action, of any store.
  ///   - end: The expected outcome.
  ///   - change: Changes the previous model into the expected one. Nil if the model does not change.
  ///   - fileID: The file to show failures in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  nonisolated(nonsending) public func receive<Received: ActionType & Equatable>(
    _ action: Received, ending end: ExpectedEnd = .success,
    _ change: ((inout Model) throws -> Void)? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async {
    let place = SourcePlace(fileID, filePath, line, column)
    _ = await receive(ExpectedAction(action), end, change, place)
  }

  /// Asserts that an action of this type was the next to follow, awaits its end, and asserts its changes.
  ///
  /// Waits until the action is dispatched, and gives up when the dispatcher is idle. With `exhaustivity` off, skips
  /// other actions before it. If the action times out, waits until its stores have ended.
  ///
  /// - Parameters:
  ///   - kind: The type of the action.
  ///   - end: The expected outcome.
  ///   - change: Changes the previous model into the expected one. Nil if the model does not change.
  ///   - fileID: The file to show failures in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  /// - Returns: The action, if it was received.
  @discardableResult
  nonisolated(nonsending) public func receive<Received: ActionType>(
    _ kind: Received.Type, ending end: ExpectedEnd = .success,
    _ change: ((inout Model) throws -> Void)? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async -> Received? {
    let place = SourcePlace(fileID, filePath, line, column)
    let expected = ExpectedAction(name: "an action of type \(kind)", matches: { $0 is Received })
    return await receive(expected, end, change, place) as? Received
  }

  /// Asserts that a matching action was the next to follow, awaits its end, and asserts its changes.
  ///
  /// Waits until the action is dispatched, and gives up when the dispatcher is idle. With `exhaustivity` off, skips
  /// other actions before it. If the action times out, waits until its stores have ended.
  ///
  /// - Parameters:
  ///   - kind: The type of the action.
  ///   - matches: Returns whether an action is the expected one.
  ///   - end: The expected outcome.
  ///   - change: Changes the previous model into the expected one. Nil if the model does not change.
  ///   - fileID: The file to show failures in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  /// - Returns: The action, if it was received.
  @discardableResult
  nonisolated(nonsending) public func receive<Received: ActionType>(
    _ kind: Received.Type, where matches: @escaping (Received) -> Bool,
    ending end: ExpectedEnd = .success, _ change: ((inout Model) throws -> Void)? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async -> Received? {
    let place = SourcePlace(fileID, filePath, line, column)
    let expected = ExpectedAction(
      name: "an action of type \(kind) that matches",
      matches: { ($0 as? Received).map(matches) ?? false })
    return await receive(expected, end, change, place) as? Received
  }

  private nonisolated(nonsending) func receive(
    _ expected: ExpectedAction, _ end: ExpectedEnd, _ change: ((inout Model) throws -> Void)?,
    _ place: SourcePlace
  ) async -> AnyAction? {
    while true {
      guard let next = await nextFollowed() else {
        reportNothingFollowed(expected.name, place)
        return nil
      }
      progress.change { $0.received = next.number }
      guard let action = next.action else { continue }
      if expected.matches(action) {
        await assertEnd(of: next.id, Diff.line(action: action), end, change, place)
        return action
      }
      if exhaustivity.isOn {
        reportMismatch(expected, next, action, place)
        return nil
      }
      note("Skipped \(next.name).", place)
    }
  }

  private func reportMismatch(
    _ expected: ExpectedAction, _ next: RecordedDispatch, _ action: AnyAction,
    _ place: SourcePlace
  ) {
    let difference =
      expected.mismatch(action)
      ?? "− \(expected.name)\n+ \(Diff.line(action: action)), of type \(type(of: action))"
    reporter.report(
      """
      Another action followed than the expected one:

      \(difference)

      (− expected, + received: \(origin(of: next)))
      """, at: place)
    // Does not await the other action's end, which may need what the test does next. Its later changes are known, so
    // that one mistake makes one failure.
    _ = watch.advance(past: next.id)
    progress.change { progress in
      progress.mistaken.insert(next.id)
      progress.last = next.id
    }
  }

  private func reportNothingFollowed(_ name: String, _ place: SourcePlace) {
    if Task.isCancelled { return reportCancellation(name, place) }
    let ending = Set(dispatcher.endingEffects)
    let longLived = dispatcher.runningEffects.filter { !ending.contains($0) }
    let lines = (notEnded + longLived).map { "\n  \($0)" }.joined()
    let resting = lines.isEmpty ? "" : " This rests, or is long-lived:\n" + lines
    reporter.report(
      "Expected to receive \(name), but nothing more followed: the dispatcher is idle.\(resting)",
      at: place)
  }

  /// Returns the next dispatch that followed, or nil if the dispatcher is idle or the task was cancelled.
  private nonisolated(nonsending) func nextFollowed() async -> RecordedDispatch? {
    let progress = progress.read(\.self)
    if let settle = progress.settle {
      // Runs of effects may need it to go on.
      if let next = await nextFollowed(progress, awaitsEffects: false) { return next }
      await settle()
    }
    return await nextFollowed(progress, awaitsEffects: true)
  }

  private nonisolated(nonsending) func nextFollowed(
    _ progress: TestProgress, awaitsEffects: Bool
  ) async -> RecordedDispatch? {
    let next = { @Sendable (journal: Journal) -> NextEvent<RecordedDispatch>? in
      if let next = progress.followed(in: journal).first { return .event(next) }
      return journal.isIdle ? .nothing : nil
    }
    let hasNext = { @Sendable (journal: Journal) -> Bool in
      !progress.followed(in: journal).isEmpty
    }
    while true {
      if case .event(let dispatch)? = await recorder.journal.first(next) { return dispatch }
      if await recorder.hasGoneOn(dispatcher, awaitsEffects: awaitsEffects, or: hasNext) {
        continue
      }
      // A dispatch that was due may have begun in between.
      let isSettled = recorder.journal.read { $0.isIdle && !hasNext($0) }
      if isSettled || Task.isCancelled { return nil }
    }
  }
}

/// The action that a test expects to receive.
private struct ExpectedAction {
  let name: String
  let matches: (AnyAction) -> Bool
  /// Returns how another action differs, or nil if the two can't be compared.
  var mismatch: (AnyAction) -> String? = { _ in nil }
}

extension ExpectedAction {
  init<Received: ActionType & Equatable>(_ action: Received) {
    self.init(
      name: Diff.line(action: action), matches: { ($0 as? Received) == action },
      mismatch: { actual in
        if let actual = actual as? Received { return Diff.text(expected: action, actual: actual) }
        return Diff.text(expected: action as Any, actual: actual as Any)
      })
  }
}

extension TestStore where Action: Equatable {
  /// Asserts that this action was the next to follow, awaits its end, and asserts its changes.
  ///
  /// Waits until the action is dispatched, and gives up when the dispatcher is idle. With `exhaustivity` off, skips
  /// other actions before it. If the action times out, waits until its stores have ended.
  ///
  /// - Parameters:
  ///   - action: The action, of the store under test.
  ///   - end: The expected outcome.
  ///   - change: Changes the previous model into the expected one. Nil if the model does not change.
  ///   - fileID: The file to show failures in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  nonisolated(nonsending) public func receive(
    _ action: Action, ending end: ExpectedEnd = .success,
    _ change: ((inout Model) throws -> Void)? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async {
    let place = SourcePlace(fileID, filePath, line, column)
    _ = await receive(ExpectedAction(action), end, change, place)
  }
}
