/// Why a log cannot be read on.
///
/// A single malformed record is not such an error: it is a `Rejection`.
enum LogError: Error, Equatable {
  case empty
  /// The log begins in a way in which no log begins.
  case foreign(at: Int)
  /// A field that is longer than any of a log.
  case endlessField(at: Int)
  /// The log ends at byte `end`, in the middle of the record that begins at byte `record`.
  case cut(end: Int, record: Int, in: CommitPlace)
  /// The log ends at byte `end`, before the lines of this many paths that the commit announced.
  case incomplete(end: Int, owed: Int, in: CommitPlace)

  var message: String {
    switch self {
    case .empty: "the log is empty"
    case .foreign(let offset):
      "this is no log that churn can read: byte \(offset) does not begin a commit; "
        + "'churn --help' prints the command that saves one"
    case .endlessField(let offset):
      "this is no log that churn can read: the field at byte \(offset) is longer than "
        + "\(FieldSplitter.longestField) bytes"
    case .cut(let end, let record, let place):
      "the log is cut: it ends at byte \(end), in the middle of the record that begins at byte "
        + "\(record), \(place)"
    case .incomplete(let end, let owed, let place):
      "the log is cut: it ends at byte \(end), where \(owed) records of lines are still to come, "
        + "\(place)"
    }
  }
}

/// The commit that a position in a log belongs to, as far as its header was read.
enum CommitPlace: Equatable, Sendable, CustomStringConvertible {
  case beforeFirst
  case within(ByteString)
  case after(ByteString)

  var description: String {
    switch self {
    case .beforeFirst: "in the header of the first commit"
    case .within(let hash): "in commit \(hash)"
    case .after(let hash): "in the header of the commit after \(hash)"
    }
  }
}
