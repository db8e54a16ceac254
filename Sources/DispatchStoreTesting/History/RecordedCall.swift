/// A call that a recorder keeps as pending until it is told how it ended.
///
/// May be used from any thread. Dropping it leaves the operation pending for ever: it may or may not
/// have taken effect.
public struct RecordedCall<Operation: Sendable, Response: Equatable & Sendable>: Sendable {
  let recorder: HistoryRecorder<Operation, Response>
  let entry: HistoryEntry<Operation, Response>

  /// Records that the operation has returned.
  ///
  /// Once: a second end, in either form, is a precondition that names the operation.
  public func returned(_ response: Response) {
    // The stamp comes first, so that what it takes to record does not count as part of the operation.
    entry.end(at: recorder.tick(), response)
  }

  /// Takes the operation out of the history, because it is certain that it had no effect.
  ///
  /// Once: a second end, in either form, is a precondition that names the operation.
  public func withdraw() {
    entry.withdraw()
  }
}
