/// A call that is pending in its recorder until `returned(_:)` or `withdraw()` is called.
///
/// You can use it from any thread. If you drop it, the operation stays pending for ever: it may or may not have taken
/// effect.
public struct RecordedCall<Operation: Sendable, Response: Equatable & Sendable>: Sendable {
  let recorder: HistoryRecorder<Operation, Response>
  let entry: HistoryEntry<Operation, Response>

  /// Records that the operation has returned.
  ///
  /// Call it once. A second end, in either form, fails a precondition that names the operation.
  public func returned(_ response: Response) {
    // Stamped first, so that the time for recording is not part of the operation.
    entry.end(at: recorder.tick(), response)
  }

  /// Removes the operation from the history, because it certainly had no effect.
  ///
  /// Call it once. A second end, in either form, fails a precondition that names the operation.
  public func withdraw() {
    entry.withdraw()
  }
}
