import Testing

@testable import churn

/// Well-formed logs, in blocks of every size.
@Suite struct LogParserTests {
  @Test(arguments: [1, 7, .max])
  func readsCommitsWithTheirChanges(blockLength: Int) throws {
    let parsed = try Parsed(TestLog.small.bytes, blockLength: blockLength)

    #expect(parsed.rejections.count == 0)
    #expect(parsed.commits.map(\.hash.text) == [1, 2, 3].map(TestLog.hash))
    #expect(parsed.commits.map(\.time) == [1_700_000_000, 1_700_000_000, 1_700_100_000])
    #expect(parsed.commits.map { $0.changes.count } == [3, 1, 2])
    #expect(parsed.commits[1].author == "Ben <ben@example.org>")
    #expect(
      parsed.commits[2].changes[0]
        == Change(
          path: Path("src/b"), author: "Ada <ada@example.org>", kind: .deleted,
          lines: LineCount(added: 0, deleted: 5)))
    #expect(parsed.commits[0].changes[2].lines == nil)
  }

  @Test func readsCommitsWithoutChanges() throws {
    var log = TestLog()
    log.addCommit(1)
    log.addCommit(2)
    log.addCommit(3, .init("a"))
    log.addCommit(4)

    let parsed = try Parsed(log.bytes)

    #expect(parsed.commits.map { $0.changes.count } == [0, 0, 1, 0])
    #expect(parsed.rejections.count == 0)
  }

  @Test(arguments: [1, 7, .max])
  func keepsEveryPathAsItsBytes(blockLength: Int) throws {
    let paths: [[UInt8]] = [
      Array("".utf8), Array(" ".utf8), Array("tab\there".utf8), Array("line\nbreak".utf8),
      Array("3\t4\tlike lines".utf8), Array(":100644 100644 0000000 1234567 M".utf8),
      Array("\n:100644 100644 0000000 1234567 M".utf8), [1] + TestLog.hash(9).utf8,
      [0xFF, 0xFE], [0xFF, 0xFD], Array("caf\u{E9}".utf8), Array("cafe\u{301}".utf8),
      Array(repeating: UInt8(ascii: "x"), count: 4096), Array("-\t-\t".utf8),
    ]
    var log = TestLog()
    for (number, path) in paths.enumerated() {
      log.addCommit(number, TestLog.Entry(path: path), .init("other"))
    }
    log.fields.append([])
    log.fields += TestLog.small.fields.dropFirst()

    let parsed = try Parsed(log.bytes, blockLength: blockLength)

    #expect(parsed.rejections.count == 0)
    #expect(parsed.commits.prefix(paths.count).map(\.changes[0].path.name.bytes) == paths)
    #expect(Set(parsed.commits.prefix(paths.count).map(\.changes[0].path)).count == paths.count)
    #expect(parsed.commits.count == paths.count + 3)
  }

  @Test(arguments: ["", "a\nb", "a\tb", "\u{1}0123", ":100644", "1\t2\tx"])
  func keepsEveryAuthorAsItsBytes(author: String) throws {
    var log = TestLog()
    log.addCommit(1, author: author, .init("a"))

    let parsed = try Parsed(log.bytes, blockLength: 3)

    #expect(parsed.rejections.count == 0)
    #expect(parsed.changes.map(\.author.text) == [author])
  }

  @Test func readsNamesOfBothHashLengthsAndAnyAbbreviation() throws {
    var log = TestLog()
    log.addCommit(1, .init("a"))
    log.fields[1] = [1] + Array(repeating: UInt8(ascii: "f"), count: 64)
    let blob = String(repeating: "0", count: 64)
    log.fields[4] = Array("\n:000000 160000 \(blob) 1234 A".utf8)

    let parsed = try Parsed(log.bytes)

    #expect(parsed.rejections.count == 0)
    #expect(parsed.changes.map(\.kind) == [.created])
  }

  @Test func stopsAtItsLimitWhateverFollows() throws {
    let parsed = try Parsed(Array(TestLog.small.bytes.dropLast(3)), blockLength: 5, limit: 2)

    #expect(parsed.commits.map(\.hash.text) == [1, 2].map(TestLog.hash))
  }
}
