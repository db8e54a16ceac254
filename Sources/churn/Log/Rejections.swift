/// A record that could not be read, and its place.
struct Rejection: Equatable, Sendable, CustomStringConvertible {
  let offset: Int
  let place: CommitPlace
  let reason: Reason

  /// The mistake in the record.
  enum Reason: String, Sendable {
    case hash = "its hash is not one"
    case time = "its time is not a number of seconds"
    case header = "this begins no commit, and is skipped up to the next one"
    case emptyRecord = "an empty record"
    case missingSeparator = "a commit begins without the empty field before it"
    case raw = "not a raw record that says which file was changed"
    case numstat = "not a record of lines added and deleted"
    case unannounced = "lines of a path for which no raw record stands here"
    case uncounted = "a raw record without its record of lines"
  }

  var description: String {
    "malformed record at byte \(offset), \(place): \(reason.rawValue)"
  }
}

/// Counts the records that could not be read, and keeps the first ten to report them.
struct Rejections: Equatable, Sendable {
  static let kept = 10

  private(set) var count = 0
  private(set) var first: [Rejection] = []

  mutating func add(_ rejection: Rejection) {
    count += 1
    if first.count < Self.kept { first.append(rejection) }
  }
}
