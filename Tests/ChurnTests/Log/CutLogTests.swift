import Testing

@testable import churn

/// Logs that end too early, and what is no log at all.
@Suite struct CutLogTests {
  @Test func endsWithAnErrorOrWholeCommitsWhereverItIsCut() throws {
    let log = TestLog.small
    let whole = try Parsed(log.bytes)
    // Right after a commit, or its header, a cut log is indistinguishable from a whole one.
    var ends: Set<Int> = []
    var offset = 0
    for (index, field) in log.fields.enumerated() {
      offset += field.count + 1
      if [3, 12, 16, 19, 23].contains(index) { ends.insert(offset) }
    }

    for length in 0..<log.bytes.count {
      let cut = Array(log.bytes.prefix(length))
      if let parsed = try? Parsed(cut) {
        #expect(ends.contains(length), "cut at byte \(length)")
        #expect(parsed.rejections.count == 0)
        #expect(whole.commits.starts(with: parsed.commits.dropLast()))
      } else {
        #expect(throws: LogError.self) { try Parsed(cut, blockLength: 3) }
      }
    }
    #expect(ends.filter { (try? Parsed(Array(log.bytes.prefix($0)))) != nil }.count == 5)
  }

  @Test func saysAtWhichByteAndInWhichCommit() {
    let bytes = Array(TestLog.small.bytes.dropLast(2))
    let record = bytes.count - "1\t0\tsrc/a\0".utf8.count + 2

    #expect(
      throws: LogError.cut(
        end: bytes.count, record: record, in: .within(ByteString(TestLog.hash(3))))
    ) { try Parsed(bytes) }
  }

  @Test func saysHowManyRecordsAreStillToCome() {
    var log = TestLog.small
    log.fields.removeLast()

    #expect(
      throws: LogError.incomplete(
        end: log.bytes.count, owed: 1, in: .within(ByteString(TestLog.hash(3))))
    ) { try Parsed(log.bytes) }
  }

  @Test func saysThatALogIsEmpty() {
    #expect(throws: LogError.empty) { try Parsed([]) }
  }

  @Test(arguments: [
    Array("commit 1234\nAuthor: Ada\n".utf8), Array("{\"a\":1}".utf8), [0x1F, 0x8B, 8, 0],
    [0x7F, 0x45, 0x4C, 0x46, 0, 0, 0], [0], [0, 0, 0], Array("\u{0}text\u{0}".utf8),
    Array("\u{0}text".utf8), Array("\u{0}\u{1}nothex\u{0}".utf8),
  ])
  func saysOfSomethingElseThatItIsNoLog(bytes: [UInt8]) {
    for blockLength in [1, .max] {
      let error = #expect(throws: LogError.self) {
        try Parsed(bytes, blockLength: blockLength)
      }
      if bytes.count > 1 {
        #expect(error?.message.contains("no log that churn can read") == true)
      }
    }
  }

  @Test func refusesAFieldWithoutEnd() {
    let endless = [UInt8](repeating: 7, count: FieldSplitter.longestField + 1)

    #expect(throws: LogError.endlessField(at: 0)) { try Parsed(endless) }
  }
}
