import DispatchStore

extension TestStore {
  /// Waits until the dispatcher is idle, and fails for everything that was not asserted, has not ended, or was given up.
  ///
  /// These have not ended: delayed dispatches, runs of effects that sleep on a `VirtualClock`, and work of durable effects
  /// that is not done. These were given up: effects that have thrown, without `onFailure`, and dead letters.
  ///
  /// This call waits for each dispatch under way, also for one that pauses on a `VirtualClock`. If a time limit of the
  /// test cancels the call, the failure says what each dispatch waits for.
  ///
  /// - Parameters:
  ///   - fileID: The file to show failures in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  nonisolated(nonsending) public func finish(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async {
    let place = SourcePlace(fileID, filePath, line, column)
    if let settle {
      // Runs of effects may need it to go on.
      await recorder.idle(at: dispatcher, awaitsEffects: false)
      await settle()
    }
    await recorder.idle(at: dispatcher)
    let (isCancelled, givenUp) = (Task.isCancelled, givenUp)
    if isCancelled { reportCancellation("all dispatches to end", place) }
    reportUnasserted(at: place)
    let notEnded = isCancelled ? [] : notEnded
    if !notEnded.isEmpty { reportUnasserted(describe(notEnded: notEnded), at: place) }
    if !givenUp.isEmpty { reportUnasserted(describe(givenUp: givenUp), at: place) }
  }

  /// The dispatches that have not begun, in words.
  var delayed: [String] {
    dispatcher.delayed.sorted { $0.id < $1.id }.map { dispatch in
      let actions = dispatch.actions.map { Diff.line(action: $0) }.joined(separator: ", ")
      return "\(actions), dispatched at \(dispatch.callSite), whose time has not come"
    }
  }

  /// Everything that has not ended, in words, while the dispatcher is idle; without long-lived effects.
  var notEnded: [String] {
    let pending = dispatcher.pendingEffects.map { work in
      "The durable effect \"\(work.effect)\" after "
        + attempts(work.attempts, of: work.action, work.lastError)
    }
    return delayed + dispatcher.sleepingEffects + pending
  }

  /// The work that was given up, in words; failures of effects once.
  private var givenUp: [String] {
    let letters = dispatcher.deadLetters.map { letter in
      let kind = letter.kind == .effect ? "durable effect" : "scheduled action"
      return "The dead letter of the \(kind) \"\(letter.name)\" after "
        + attempts(letter.attempts, of: letter.action, letter.error)
    }
    return dispatcher.takeFailuresOfEffects() + letters
  }

  private func attempts(_ count: Int, of action: AnyAction?, _ error: String?) -> String {
    let work = action.map { " of \(Diff.line(action: $0))" } ?? ""
    let reason = error.map { ": \($0)" } ?? ""
    return "\(count) failed \(count == 1 ? "attempt" : "attempts")\(work)\(reason)"
  }

  /// Reports everything that was not asserted, and marks it as asserted, so that it is reported once.
  func reportUnasserted(before action: String? = nil, at place: SourcePlace, isLast: Bool = false) {
    let before = progress.read(\.self)
    let (unreceived, ends, open, count) = recorder.journal.read { journal in
      (
        Array(before.followed(in: journal)), before.unassertedEnds(in: journal),
        isLast && !journal.isIdle ? journal.dispatches.filter { !$0.hasEnded } : [],
        journal.dispatches.count
      )
    }
    progress.change { progress in
      progress.received = count
      for end in ends { progress.open[end.id] = nil }
    }
    if !open.isEmpty { reportUnasserted(describe(underWay: open), at: place) }
    if !ends.isEmpty { reportUnasserted(describe(ends: ends.map { $0.line }), at: place) }
    if !unreceived.isEmpty { reportUnasserted(describe(unreceived, before: action), at: place) }
    let known = before.mistaken.union(unreceived.map(\.id))
    for watch in before.watches {
      let commits = watch.unasserted
      guard !commits.isEmpty else { continue }
      // An action that was not received was reported above or by `receive`, so its changes are not.
      let isNew = commits.contains { commit in
        commit.dispatchID.map { !known.contains($0) } ?? true
      }
      let message = watch.skipAll(origin(of: commits))
      if let message, isNew { reportUnasserted(message, at: place) }
    }
  }

  private func reportUnasserted(_ message: String, at place: SourcePlace) {
    switch exhaustivity {
    case .on: reporter.report(message, at: place)
    case .off: note(message, place)
    }
  }

  private func origin(of commits: [RecordedCommit]) -> String {
    var (names, known): ([String], Set<String>) = ([], [])
    for commit in commits {
      let action = recorder.journal.read { journal in
        commit.dispatchID.flatMap { journal[$0]?.action }
      }
      let name = action.map { "in " + Diff.line(action: $0) } ?? "outside of dispatches"
      if known.insert(name).inserted { names.append(name) }
    }
    return names.joined(separator: ", ")
  }

  private func describe(_ unreceived: [RecordedDispatch], before action: String?) -> String {
    let actions = unreceived.count == 1 ? "1 action" : "\(unreceived.count) actions"
    let when = action.map { " before \($0) was sent" } ?? ""
    let lines = unreceived.map { "  \(Diff.line(action: $0.action!)), \(origin(of: $0))" }
    return """
      \(actions) followed, and the test did not receive \(unreceived.count == 1 ? "it" : "them")\(when):

      \(lines.joined(separator: "\n"))

      Receive each with receive(_:), or set exhaustivity to .off.
      """
  }

  private func describe(ends: [String]) -> String {
    let subject = ends.count == 1 ? "1 action has" : "\(ends.count) actions have"
    return """
      \(subject) ended, and the test did not assert how:

      \(ends.map { "  \($0)" }.joined(separator: "\n"))

      Await ends(_:_:) of each step, or set exhaustivity to .off.
      """
  }

  private func describe(notEnded: [String]) -> String {
    """
    Nothing goes on, and this has not ended:

    \(notEnded.map { "  \($0)" }.joined(separator: "\n"))

    Advance the dispatcher's clock and await the end, cancel it, or set exhaustivity to .off.
    """
  }

  private func describe(givenUp: [String]) -> String {
    """
    This was given up:

    \(givenUp.map { "  \($0)" }.joined(separator: "\n"))

    Handle the error in the effect or in onFailure(_:). If the test expects it, remove the dead letter, or set \
    exhaustivity to .off.
    """
  }

  private func describe(underWay open: [RecordedDispatch]) -> String {
    let dispatches = open.count == 1 ? "1 dispatch was" : "\(open.count) dispatches were"
    return """
      The test store was released while \(dispatches) under way:

      \(open.map { "  \($0)" }.joined(separator: "\n"))

      Await finish() at the end of the test.
      """
  }
}
