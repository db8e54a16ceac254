/// The findings of the first pass over a log, before any replay.
struct LogSummary: Equatable, Sendable {
  var commits = 0
  var changes = 0
  /// The first commit that was read.
  var firstHash: ByteString?
  /// The last commit that was read.
  var lastHash: ByteString?

  /// The number of events in a replay of `copies` copies.
  func eventCount(copies: Int) -> Int { (commits + changes) * copies }

  mutating func add(_ commits: [LoggedCommit]) {
    self.commits += commits.count
    for commit in commits {
      changes += commit.changes.count
      firstHash = firstHash ?? commit.hash
      lastHash = commit.hash
    }
  }
}
