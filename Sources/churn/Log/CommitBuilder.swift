/// Builds a commit from its records.
///
/// All raw records come before all records of lines, both in the same order. A raw record gives the kind of a path's
/// change, a record of lines the number of its lines.
struct CommitBuilder {
  let hash: ByteString
  private let author: ByteString
  private let time: Int
  private var announced: [(path: ByteString, kind: Change.Kind)] = []
  private var changes: [Change] = []

  init(hash: ByteString, author: ByteString, time: Int) {
    self.hash = hash
    self.author = author
    self.time = time
  }

  /// The number of raw records that still wait for their lines.
  var owed: Int { announced.count - changes.count }

  /// Whether records of lines have begun.
  var hasLines: Bool { !changes.isEmpty }

  mutating func announce(_ path: ByteString, _ kind: Change.Kind) {
    announced.append((path, kind))
  }

  /// Adds the lines of the next raw record; false if that is of another path, or there is none.
  mutating func count(_ lines: LineCount?, of path: Span<UInt8>) -> Bool {
    guard owed > 0 else { return false }
    let raw = announced[changes.count]
    guard raw.path.isEqual(to: path) else { return false }
    changes.append(Change(path: Path(raw.path), author: author, kind: raw.kind, lines: lines))
    return true
  }

  func finished() -> LoggedCommit {
    LoggedCommit(hash: hash, author: author, time: time, changes: changes)
  }
}
