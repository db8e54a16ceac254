import DispatchStore

extension TestStore {
  /// Awaits that the dispatcher is idle, and fails for all that was not asserted.
  ///
  /// - Parameters:
  ///   - fileID: Where failures are shown, like the following.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  nonisolated(nonsending) public func finish(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async {
    let place = SourcePlace(fileID, filePath, line, column)
    await recorder.idle()
    if let settle {
      await settle()
      await recorder.idle()
    }
    if Task.isCancelled { reportCancellation("all dispatches to end", place) }
    reportWhatIsLeft(at: place)
  }

  // MARK: What assertions share

  /// Awaits the end of an action, and asserts how it ended and what it changed.
  nonisolated(nonsending) func assertEnd(
    of id: TransactionID, _ name: String, _ end: ExpectedEnd,
    _ change: ((inout Model) throws -> Void)?, _ place: SourcePlace
  ) async {
    let ended = await recorder.journal.first { journal in
      journal[id].flatMap { $0.hasEnded ? $0 : nil }
    }
    guard let ended else { return reportCancellation("\(name) to end", place) }
    if let mismatch = end.mismatch(name, ended.error) { reporter.report(mismatch, at: place) }
    let (before, after) = watch.advance(past: id)
    progress.change { $0.last = id }
    check(before, after, name, change, place)
  }

  func check(
    _ before: Model, _ after: Model, _ name: String, _ change: ((inout Model) throws -> Void)?,
    _ place: SourcePlace
  ) {
    let check = ChangeCheck(
      storeIdentifier: store.identifier, subject: name, before: before, after: after,
      exhaustivity: exhaustivity)
    if let failure = check.failure(of: change) {
      reporter.report(failure, at: place)
    } else if change == nil, exhaustivity == .off(showSkipped: true),
      let skipped = check.unexpected("in \(name)")
    {
      note(skipped, place)
    }
  }

  func reportCancellation(_ awaited: String, _ place: SourcePlace) {
    reporter.report("The task was cancelled while it waited for \(awaited).", at: place)
  }

  /// Shows what was passed over, where that is asked for.
  func note(_ message: String, _ place: SourcePlace) {
    guard case .off(showSkipped: true) = exhaustivity else { return }
    reporter.report(message, severity: .note, at: place)
  }

  // MARK: What nothing was said of

  /// Fails for what was not asserted, and takes it as such, so that it is reported once.
  func reportWhatIsLeft(before action: String? = nil, at place: SourcePlace, isLast: Bool = false) {
    let before = progress.read(\.self)
    let (left, open, count) = recorder.journal.read { journal in
      (
        before.followed(in: journal),
        isLast && !journal.isIdle ? journal.transactions.filter { !$0.hasEnded } : [],
        journal.transactions.count
      )
    }
    progress.change { $0.received = count }
    if !open.isEmpty { reportLeft(describe(underWay: open), at: place) }
    if !left.isEmpty { reportLeft(describe(left, before: action), at: place) }
    let known = Set(left.map(\.id))
    for watch in before.watches {
      let commits = watch.left
      guard !commits.isEmpty else { continue }
      // What was dispatched and not received was reported as such.
      let isNews = commits.contains { commit in
        commit.transaction.map { !known.contains($0) } ?? true
      }
      let message = watch.skipAll(origin(of: commits))
      if let message, isNews { reportLeft(message, at: place) }
    }
  }

  private func reportLeft(_ message: String, at place: SourcePlace) {
    switch exhaustivity {
    case .on: reporter.report(message, at: place)
    case .off: note(message, place)
    }
  }

  private func origin(of commits: [RecordedCommit]) -> String {
    var names: [String] = []
    for commit in commits {
      let action = recorder.journal.read { journal in
        commit.transaction.flatMap { journal[$0]?.action }
      }
      let name = action.map { "in " + Diff.line($0) } ?? "outside of dispatches"
      if !names.contains(name) { names.append(name) }
    }
    return names.joined(separator: ", ")
  }

  private func describe(_ left: [RecordedTransaction], before action: String?) -> String {
    let when = action.map { " before \($0) was sent" } ?? ""
    let lines = left.map { "  \(Diff.line($0.action!)), \(origin(of: $0))" }
    return """
      \(left.count == 1 ? "1 action" : "\(left.count) actions") followed, and nothing was received of \
      that\(when):

      \(lines.joined(separator: "\n"))

      Receive each with receive(_:), or set exhaustivity to .off.
      """
  }

  private func describe(underWay open: [RecordedTransaction]) -> String {
    let dispatches = open.count == 1 ? "1 dispatch was" : "\(open.count) dispatches were"
    return """
      The test store was released while \(dispatches) under way:

      \(open.map { "  \($0)" }.joined(separator: "\n"))

      Await finish() at the end of the test.
      """
  }

  /// What caused an action, and where it was dispatched.
  func origin(of transaction: RecordedTransaction) -> String {
    let cause = transaction.cause.flatMap { number in
      recorder.journal.read { journal in
        // Several actions have no name of their own: what caused those is meant.
        var cause = journal.transactions[number - 1]
        while cause.action == nil, let next = cause.cause { cause = journal.transactions[next - 1] }
        return cause.action
      }
    }
    let because = cause.map { "because of \(Diff.line($0)), " } ?? ""
    return because + "dispatched at \(transaction.callSite)"
  }
}
