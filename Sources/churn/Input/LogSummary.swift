/// The findings of the first pass over a log, before any replay.
struct LogSummary: Equatable, Sendable {
  /// Commits with a valid header; of other commits only the changes count.
  var commits = 0
  var changes = 0
  var rejections = Rejections()
  /// The first commit that was read.
  var firstHash: ByteString?
  /// The last commit that was read.
  var lastHash: ByteString?

  /// The number of events in a replay of `copies` copies.
  func eventCount(copies: Int) -> Int { (commits + changes) * copies }

  mutating func add(_ commits: [LoggedCommit]) {
    for commit in commits {
      self.commits += commit.time == nil ? 0 : 1
      changes += commit.changes.count
      firstHash = firstHash ?? commit.hash
      lastHash = commit.hash
    }
  }
}
