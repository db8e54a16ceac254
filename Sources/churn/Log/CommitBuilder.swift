/// Builds a commit from its records.
///
/// All raw records come before all records of lines, both in the same order. A raw record gives the kind of a path's
/// change, a record of lines the number of its lines.
struct CommitBuilder {
  /// A raw record that waits for its lines.
  ///
  /// The kind is nil if the record was malformed: its lines are then skipped, without being rejected a second time.
  private struct Announced {
    let path: ByteString
    let kind: Change.Kind?
  }

  /// The number of raw records to search ahead for that of some lines, if records are missing between.
  private static let lookahead = 64

  let hash: ByteString
  private let author: ByteString
  private let time: Int?
  private var changes: [Change] = []
  private var announced: [Announced] = []
  private var paired = 0
  /// The number of records of lines without a raw record since the last one with one.
  private var strays = 0

  init(hash: ByteString, author: ByteString, time: Int?) {
    self.hash = hash
    self.author = author
    self.time = time
  }

  /// The number of raw records that still wait for their lines, except those that a stray may belong to.
  var owed: Int { max(0, announced.count - paired - strays) }

  /// The number of raw records so far.
  var announcedCount: Int { announced.count }

  mutating func announce(_ path: ByteString, _ kind: Change.Kind?) {
    announced.append(Announced(path: path, kind: kind))
  }

  /// The match of a record of lines.
  enum Pairing: Equatable {
    /// Matched a raw record; this many before that one have no lines.
    case paired(skipped: Int)
    case unannounced
  }

  mutating func count(_ lines: LineCount?, of path: Span<UInt8>) -> Pairing {
    let horizon = min(announced.count, paired + Self.lookahead)
    var index = paired
    while index < horizon, !announced[index].path.isEqual(to: path) { index += 1 }
    guard index < horizon else {
      strays += 1
      return .unannounced
    }
    // A stray and a raw record without lines, side by side, are one malformed record.
    let skipped = max(0, index - paired - strays)
    strays = 0
    paired = index + 1
    let raw = announced[index]
    if let kind = raw.kind {
      changes.append(Change(path: Path(raw.path), author: author, kind: kind, lines: lines))
    }
    return .paired(skipped: skipped)
  }

  /// Skips a malformed record of lines.
  mutating func passOverLines() { strays += 1 }

  /// Whether these would be the lines of the raw record after the next.
  func isSecondPath(_ path: Span<UInt8>) -> Bool {
    paired + 1 < announced.count && announced[paired + 1].path.isEqual(to: path)
  }

  func finished() -> LoggedCommit {
    LoggedCommit(hash: hash, author: author, time: time, changes: changes)
  }
}
