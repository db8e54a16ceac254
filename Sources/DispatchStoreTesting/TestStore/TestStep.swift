public import DispatchStore

/// An action that was sent, whose changes and end are asserted step by step.
public struct TestStep<Model: Sendable, Action: ActionType>: Sendable {
  let testStore: TestStore<Model, Action>
  /// The handle of the dispatch, for instance to cancel it.
  public let handle: DispatchHandle
  let name: String

  private var id: DispatchID { handle.dispatchID }

  /// Awaits the next commit of the action, and asserts the changes up to it.
  ///
  /// A commit that leaves the model as it was counts, too: its closure changes nothing.
  ///
  /// - Parameters:
  ///   - change: Changes the previous model into the expected one.
  ///   - fileID: The file to show failures in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  nonisolated(nonsending) public func changes(
    _ change: (inout Model) throws -> Void,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async {
    let place = SourcePlace(fileID, filePath, line, column)
    let (store, version) = (testStore.watch.storeIdentity, testStore.watch.version)
    let next = await testStore.recorder.journal.first {
      [id] journal -> NextEvent<RecordedCommit>? in
      if let commit = journal.commits(of: store).first(of: id, after: version) {
        return .event(commit)
      }
      return journal.isOver(id) ? .nothing : nil
    }
    switch next {
    case nil:
      testStore.reportCancellation("another change in \(name)", place)
    case .nothing?:
      testStore.reporter.report(
        "Expected another change in \(name), but it has ended.", at: place)
    case .event(let commit)?:
      testStore.watch.skip(testStore.progress.read(\.mistaken))
      let (before, after) = testStore.watch.advance(to: commit)
      testStore.progress.change { $0.last = id }
      withoutActuallyEscaping(change) {
        testStore.check(before, after, name, $0, place, isOfCommit: true)
      }
    }
  }

  /// Awaits the end of the action, and asserts its outcome and its remaining changes.
  ///
  /// If it times out, that is before its stores have ended. Assert what they change later with `expect(in:_:)`.
  ///
  /// - Parameters:
  ///   - end: The expected outcome.
  ///   - change: Changes the previous model into the expected one. Nil if the model does not change.
  ///   - fileID: The file to show failures in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  nonisolated(nonsending) public func ends(
    _ end: ExpectedEnd = .success, _ change: ((inout Model) throws -> Void)? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async {
    await ends(end, change, at: SourcePlace(fileID, filePath, line, column))
  }

  nonisolated(nonsending) func ends(
    _ end: ExpectedEnd, _ change: ((inout Model) throws -> Void)?, at place: SourcePlace
  ) async {
    await testStore.assertEnd(of: id, name, end, change, place)
    testStore.progress.change { $0.open[id] = nil }
  }
}
