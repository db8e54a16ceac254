/// One step of a replayed history: for each changed path one `changed`, then one `committed`.
enum Event: Equatable, Sendable {
  case changed(Change)
  case committed(Commit)
}

/// That an author's commit is complete.
struct Commit: Equatable, Sendable {
  let author: ByteString
  /// The day of the commit, UTC.
  let day: Day
}
