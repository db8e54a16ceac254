/// What the first pass over a log found, before any replay.
struct LogSummary: Equatable, Sendable {
  /// Commits with a valid header; of the others only the changes count.
  var commits = 0
  var changes = 0
  var rejections = Rejections()
  /// The last commit that was read.
  var lastHash: ByteString?

  /// How many events a replay of `copies` copies has.
  func eventCount(copies: Int) -> Int { (commits + changes) * copies }

  mutating func add(_ commits: [LoggedCommit]) {
    for commit in commits {
      self.commits += commit.time == nil ? 0 : 1
      changes += commit.changes.count
      lastHash = commit.hash
    }
  }
}
