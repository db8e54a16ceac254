/// A call that is pending in its recorder until `returned(_:)` or `withdraw()` is called.
///
/// May be used from any thread. Dropping it leaves the operation pending for ever: it may or may not
/// have taken effect.
public struct RecordedCall<Operation: Sendable, Response: Equatable & Sendable>: Sendable {
  let recorder: HistoryRecorder<Operation, Response>
  let entry: HistoryEntry<Operation, Response>

  /// Records that the operation has returned.
  ///
  /// To be called once: a second end, in either form, is a precondition that names the operation.
  public func returned(_ response: Response) {
    // Stamped first, so that the time for recording is not part of the operation.
    entry.end(at: recorder.tick(), response)
  }

  /// Removes the operation from the history, because it certainly had no effect.
  ///
  /// To be called once: a second end, in either form, is a precondition that names the operation.
  public func withdraw() {
    entry.withdraw()
  }
}
