import Testing

@testable import churn

/// A malformed record ends the reading, and the error names its place.
@Suite struct MalformedRecordTests {
  private static let junk: [[UInt8]] = [
    Array("junk".utf8), Array(":junk".utf8), [0xFF, 0xFE], Array("1\tx\tb".utf8),
    Array("99999999999999999999\t1\tb".utf8), Array("-1\t1\tb".utf8), Array("\t\t".utf8),
    Array("-\t1\tb".utf8), [], [1], Array("\n".utf8), Array("1\t1\televen".utf8),
  ]

  /// One commit of paths a, b and c between two others.
  private var log: TestLog {
    var log = TestLog()
    log.addCommit(1, .init("a", "A", added: 1))
    log.addCommit(2, .init("a", added: 1), .init("b", "A", added: 2), .init("c", "A", added: 3))
    log.addCommit(3, .init("a", added: 1))
    return log
  }

  /// Where the second commit's raw records, paths and records of lines are.
  private let raws = [11, 13, 15]
  private let numstats = [17, 18, 19]

  /// Expects an error with the place of a field.
  private func expectMalformed(
    _ log: TestLog, at field: Int,
    in place: CommitPlace = .within(ByteString(TestLog.hash(2)))
  ) {
    let offset = log.fields[..<field].reduce(0) { $0 + $1.count + 1 }
    #expect(throws: LogError.malformed(at: offset, in: place)) {
      try Parsed(log.bytes, blockLength: 11)
    }
  }

  @Test(arguments: 0..<3, junk)
  func linesEndTheReading(index: Int, junk: [UInt8]) {
    var log = log
    log.fields[numstats[index]] = junk
    expectMalformed(log, at: numstats[index])
  }

  @Test(arguments: 0..<3, ["junk", ":junk", ":100644 100644 0000000 1234567 X", "\n:", "x\ty\tz"])
  func rawRecordEndsTheReading(index: Int, junk: String) {
    var log = log
    log.fields[raws[index]] = Array(junk.utf8)
    expectMalformed(log, at: raws[index])
  }

  @Test(arguments: 0..<3)
  func missingLinesEndTheReading(index: Int) {
    var log = log
    log.fields.remove(at: numstats[index])
    expectMalformed(log, at: numstats[index])
  }

  @Test(arguments: 0..<3)
  func missingRawRecordEndsTheReadingAtItsLines(index: Int) {
    var log = log
    log.fields.removeSubrange(raws[index]...(raws[index] + 1))
    expectMalformed(log, at: numstats[index] - 2)
  }

  @Test func headersEndTheReading() {
    var log = log
    let first = ByteString(TestLog.hash(1))
    log.fields[10] = Array("soon".utf8)
    expectMalformed(log, at: 10)
    for hash in ["\u{1}xyz", "junk", ""] {
      log.fields[8] = Array(hash.utf8)
      expectMalformed(log, at: 8, in: .after(first))
    }
    log.fields.remove(at: 7)
    log.fields[7] = Array("\u{1}\(TestLog.hash(2))".utf8)
    expectMalformed(log, at: 7, in: .within(first))
  }

  @Test(arguments: [0, 1, 9, 10, 45, 58, 65, 255] as [UInt8])
  func noSpoiltByteStopsTheProgram(byte: UInt8) {
    let bytes = log.bytes
    for index in bytes.indices {
      var spoilt = bytes
      spoilt[index] = byte
      guard let parsed = try? Parsed(spoilt, blockLength: 11) else { continue }
      #expect(parsed.commits.count == 3)
    }
  }
}
