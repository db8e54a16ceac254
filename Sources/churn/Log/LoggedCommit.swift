/// A commit of the log, with all its changes.
struct LoggedCommit: Equatable, Sendable {
  let hash: ByteString
  let author: ByteString
  /// The time; nil if the header was malformed: its changes count then, and the commit does not.
  let time: Int?
  var changes: [Change]

  /// The commit's events, in order, for one copy of the history.
  func forEachEvent(inCopy copy: Int, _ body: (Event) throws -> Void) rethrows {
    for change in changes {
      try body(.changed(copy == 0 ? change : change.inCopy(copy)))
    }
    if let time {
      try body(.committed(Commit(hash: hash, author: author, day: Day(ofSecond: time))))
    }
  }
}
