/// A step of a replayed history: for each changed path a `changed`, then a `committed`.
enum Event: Equatable, Sendable {
  case changed(Change)
  case committed(Commit)
}

/// The end of an author's commit.
struct Commit: Equatable, Sendable {
  let hash: ByteString
  let author: ByteString
  /// The day of the commit, UTC.
  let day: Day
}
