import DispatchStore

/// Helpers of all assertions.
extension TestStore {
  /// Awaits the end of an action, and asserts its outcome and its changes.
  nonisolated(nonsending) func assertEnd(
    of id: DispatchID, _ name: String, _ end: ExpectedEnd,
    _ change: ((inout Model) throws -> Void)?, _ place: SourcePlace
  ) async {
    let result = await recorder.journal.first { $0.result(of: id) }
    guard let result else { return reportCancellation("\(name) to end", place) }
    if let mismatch = end.mismatch(name, result.error) { reporter.report(mismatch, at: place) }
    watch.skip(progress.read(\.mistaken))
    let (before, after) = watch.advance(past: id)
    progress.change { $0.last = id }
    // Why a model has not changed, if the store was unregistered, say.
    let hint = result.hasResponders ? "" : "\n\nNo store has run \(name)."
    check(before, after, name, change, place, hint)
  }

  func check(
    _ before: Model, _ after: Model, _ name: String, _ change: ((inout Model) throws -> Void)?,
    _ place: SourcePlace, _ hint: String = "", isOfCommit: Bool = false
  ) {
    let check = ChangeCheck(
      storeIdentifier: store.identifier, subject: name, before: before, after: after,
      exhaustivity: exhaustivity, isOfCommit: isOfCommit)
    if let failure = check.failure(of: change) {
      reporter.report(failure + hint, at: place)
    } else if change == nil, exhaustivity == .off(showSkipped: true),
      let skipped = check.unexpected("in \(name)")
    {
      note(skipped, place)
    }
  }

  /// Reports that the task was cancelled, with what is under way and the diagnosis, which says what that waits for.
  func reportCancellation(_ awaited: String, _ place: SourcePlace) {
    let lines = recorder.underWay + delayed + dispatcher.runningEffects
    let diagnosis = dispatcher.diagnosis()
    let waits = diagnosis.entries.isEmpty ? "" : "\n\n\(diagnosis)"
    reporter.report(FailureReporter.cancellation(awaited, underWay: lines) + waits, at: place)
  }

  /// Shows a skipped change or action, if `exhaustivity` says so.
  func note(_ message: String, _ place: SourcePlace) {
    guard case .off(showSkipped: true) = exhaustivity else { return }
    reporter.report(message, severity: .note, at: place)
  }

  /// Returns the cause of an action, and the place where it was dispatched.
  func origin(of dispatch: RecordedDispatch) -> String {
    let cause = dispatch.cause.flatMap { number in
      recorder.journal.read { journal in
        // A sequence has no action to name, so this names the action that caused the sequence.
        var cause = journal.dispatches[number - 1]
        while cause.action == nil, let next = cause.cause { cause = journal.dispatches[next - 1] }
        return cause.action
      }
    }
    let because = cause.map { "because of \(Diff.line(action: $0)), " } ?? ""
    return because + "dispatched at \(dispatch.callSite)"
  }
}
