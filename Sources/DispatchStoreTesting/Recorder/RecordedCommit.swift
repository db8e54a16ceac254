import DispatchStore

/// One commit of a watched store.
struct RecordedCommit: Sendable {
  let store: ObjectIdentifier
  let version: UInt64
  let model: any Sendable
  /// The dispatch that made it; nil for a change outside of one.
  let transaction: TransactionID?
  /// When it was recorded, in the recorder's count of events.
  let at: Int
}
