import DispatchStore

/// A commit of a watched store.
struct RecordedCommit: Sendable {
  let version: UInt64
  /// Nil once the commit was asserted.
  var model: (any Sendable)?
  /// The dispatch that made the commit, or nil for a change outside of dispatches.
  let dispatchID: DispatchID?
  /// The time of the recording, in the recorder's count of events.
  let at: Int
}
