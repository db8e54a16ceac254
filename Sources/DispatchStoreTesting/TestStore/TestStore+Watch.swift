public import DispatchStore

extension TestStore {
  /// Watches another store of the dispatcher: the test has to assert each of its changes by `expect(in:)`.
  ///
  /// - Parameters:
  ///   - other: The store.
  ///   - fileID: The file to show failures in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  public func watch<OtherModel, OtherAction>(
    _ other: Store<OtherModel, OtherAction>,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) {
    if let its = other.dispatcher, its !== dispatcher {
      return reporter.report(
        """
        Store "\(other.identifier)" is registered with dispatcher "\(its.name)", whose actions this test store does \
        not record. Register a store with testStore.dispatcher, and watch that.
        """, at: SourcePlace(fileID, filePath, line, column))
    }
    let isWatched = progress.read { progress in
      progress.watches.contains { $0.storeIdentity == ObjectIdentifier(other) }
    }
    // A second watch would record each commit twice.
    if isWatched { return }
    let watch = StoreWatch(other, recorder)
    progress.change { $0.watches.append(watch) }
  }

  /// Asserts how the last asserted action, or a change outside of dispatches, changed a watched store.
  ///
  /// - Parameters:
  ///   - other: The store under test, or one given to `watch(_:)`.
  ///   - change: Changes the previous model into the expected one.
  ///   - fileID: The file to show failures in.
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
    // If the last action has not changed that store, the assertion is about a change outside of dispatches.
    let cause = last.flatMap { found.hasUnasserted(of: $0) ? $0 : nil }
    let action = cause.flatMap { id in recorder.journal.read { $0[id]?.action } }
    let (before, after) = found.advance(past: cause)
    let check = ChangeCheck(
      storeIdentifier: other.identifier,
      subject: action.map { Diff.line(action: $0) } ?? "a change outside of dispatches",
      before: before, after: after, exhaustivity: exhaustivity)
    withoutActuallyEscaping(change) { change in
      if let failure = check.failure(of: change) { reporter.report(failure, at: place) }
    }
  }
}
