import Foundation

@testable import churn

/// A log under construction, field by field, so that a test can spoil one of them.
struct TestLog {
  /// What one commit of the log does to one path.
  struct Entry {
    var path: [UInt8]
    var status = "M"
    var lines: LineCount? = LineCount(added: 1, deleted: 0)
  }

  var fields: [[UInt8]] = []

  var bytes: [UInt8] { fields.flatMap { $0 + [0] } }

  static let author = "Ada <ada@example.org>"

  /// The hash of the commit with this number.
  static func hash(_ number: Int) -> String {
    String(repeating: "a", count: 36) + String(format: "%04x", number)
  }

  mutating func addCommit(
    _ number: Int, author: String = author, time: String = "1700000000", _ entries: Entry...
  ) {
    addCommit(number, author: author, time: time, entries: entries)
  }

  mutating func addCommit(_ number: Int, author: String, time: String, entries: [Entry]) {
    fields += [[], [1] + Self.hash(number).utf8, Array(author.utf8), Array(time.utf8)]
    for (index, entry) in entries.enumerated() {
      let newline = index == 0 ? "\n" : ""
      fields.append(Array("\(newline):100644 100644 0000000 1234567 \(entry.status)".utf8))
      fields.append(entry.path)
    }
    for entry in entries {
      let figures = entry.lines.map { "\($0.added)\t\($0.deleted)\t" } ?? "-\t-\t"
      fields.append(Array(figures.utf8) + entry.path)
    }
  }

  /// Three commits of two authors, with a creation, a deletion and a binary file.
  static var small: TestLog {
    var log = TestLog()
    log.addCommit(
      1, .init("src/a", "A", added: 10), .init("src/b", "A", added: 5), .binary("icon", "A"))
    log.addCommit(2, author: "Ben <ben@example.org>", .init("src/a", added: 2, deleted: 1))
    log.addCommit(3, time: "1700100000", .init("src/b", "D", deleted: 5), .init("src/a", added: 1))
    return log
  }
}

extension TestLog.Entry {
  init(_ path: String, _ status: String = "M", added: Int = 0, deleted: Int = 0) {
    self.init(
      path: Array(path.utf8), status: status, lines: LineCount(added: added, deleted: deleted))
  }

  static func binary(_ path: String, _ status: String = "M") -> Self {
    Self(path: Array(path.utf8), status: status, lines: nil)
  }
}

/// The result of parsing a log.
struct Parsed: Equatable {
  var commits: [LoggedCommit] = []
  var rejections = Rejections()

  var changes: [Change] { commits.flatMap(\.changes) }
  var reasons: [Rejection.Reason] { rejections.first.map(\.reason) }

  /// Parses `bytes`, handed over in blocks of a length.
  init(_ bytes: [UInt8], blockLength: Int = .max, limit: Int? = nil) throws(LogError) {
    var parser = LogParser(limit: limit)
    var rest = bytes[...]
    while !rest.isEmpty {
      let block = Array(rest.prefix(blockLength))
      rest = rest.dropFirst(block.count)
      commits += try parser.parse(block.span)
    }
    commits += try parser.finish()
    rejections = parser.rejections
  }
}
