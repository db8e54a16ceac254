import Testing

@testable import churn

/// A malformed record costs itself and nothing else.
@Suite struct MalformedRecordTests {
  private static let junk: [[UInt8]] = [
    Array("junk".utf8), Array(":junk".utf8), [0xFF, 0xFE], Array("1\tx\tb".utf8),
    Array("99999999999999999999\t1\tb".utf8), Array("-1\t1\tb".utf8), Array("\t\t".utf8),
    Array("-\t1\tb".utf8), [], [1], Array("\n".utf8),
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

  @Test(arguments: 0..<3, junk)
  func linesAreRejectedOnceAndOnlyTheirChangeIsLost(index: Int, junk: [UInt8]) throws {
    var log = log
    log.fields[numstats[index]] = junk

    let parsed = try Parsed(log.bytes)

    #expect(parsed.rejections.count == 1)
    #expect(parsed.commits.count == 3)
    let names = ["a", "b", "c"].enumerated().filter { $0.offset != index }.map(\.element)
    #expect(parsed.commits[1].changes.map(\.path.name.text) == names)
  }

  @Test(arguments: 0..<3, ["junk", ":junk", ":100644 100644 0000000 1234567 X", "\n:", "x\ty\tz"])
  func rawRecordIsRejectedOnceAndOnlyItsChangeIsLost(index: Int, junk: String) throws {
    var log = log
    log.fields[raws[index]] = Array(junk.utf8)

    let parsed = try Parsed(log.bytes)

    #expect(parsed.rejections.count == 1)
    #expect(parsed.reasons == [.raw])
    let names = ["a", "b", "c"].enumerated().filter { $0.offset != index }.map(\.element)
    #expect(parsed.commits[1].changes.map(\.path.name.text) == names)
  }

  @Test(arguments: 0..<3)
  func linesOfAnotherPathAreRejectedOnce(index: Int) throws {
    var log = log
    log.fields[numstats[index]] = Array("1\t1\televen".utf8)

    let parsed = try Parsed(log.bytes)

    #expect(parsed.reasons == [.unannounced])
    #expect(parsed.commits[1].changes.count == 2)
  }

  @Test(arguments: 0..<3)
  func missingLinesAreRejectedOnce(index: Int) throws {
    var log = log
    log.fields.remove(at: numstats[index])

    let parsed = try Parsed(log.bytes)

    #expect(parsed.reasons == [.uncounted])
    #expect(parsed.commits.map { $0.changes.count } == [1, 2, 1])
  }

  @Test(arguments: 0..<3)
  func missingRawRecordIsRejectedOnce(index: Int) throws {
    var log = log
    log.fields.removeSubrange(raws[index]...(raws[index] + 1))

    let parsed = try Parsed(log.bytes)

    #expect(parsed.reasons == [.unannounced])
    #expect(parsed.commits.map { $0.changes.count } == [1, 2, 1])
  }

  @Test func timeThatIsNoneLosesTheCommitAndKeepsItsChanges() throws {
    var log = log
    log.fields[10] = Array("soon".utf8)

    let parsed = try Parsed(log.bytes)

    #expect(parsed.reasons == [.time])
    #expect(parsed.commits.map { $0.time == nil } == [false, true, false])
    #expect(parsed.commits.map { $0.changes.count } == [1, 3, 1])
  }

  @Test func hashThatIsNoneIsRejectedAndItsChangesKept() throws {
    var log = log
    log.fields[8] = [1] + Array("xyz".utf8)

    let parsed = try Parsed(log.bytes)

    #expect(parsed.reasons == [.hash])
    #expect(parsed.commits.map { $0.changes.count } == [1, 3, 1])
  }

  @Test func headerThatIsNoneLosesItsCommitOnly() throws {
    var log = log
    log.fields[8] = Array("junk".utf8)

    let parsed = try Parsed(log.bytes)

    #expect(parsed.reasons == [.header])
    #expect(parsed.commits.map(\.hash.text) == [1, 3].map(TestLog.hash))
  }

  @Test func missingSeparatorLosesNothing() throws {
    var log = log
    log.fields.remove(at: 7)

    let parsed = try Parsed(log.bytes)

    #expect(parsed.reasons == [.missingSeparator])
    #expect(parsed.commits.map { $0.changes.count } == [1, 3, 1])
  }

  @Test(arguments: [0, 1, 9, 10, 45, 58, 65, 255] as [UInt8])
  func noSpoiltByteStopsTheReading(byte: UInt8) {
    let bytes = log.bytes
    for index in bytes.indices {
      var spoilt = bytes
      spoilt[index] = byte
      // Either parsing throws, or the other records are parsed.
      guard let parsed = try? Parsed(spoilt, blockLength: 11) else { continue }
      #expect((1...4).contains(parsed.commits.count))
      #expect(parsed.changes.count <= 5)
    }
  }

  @Test func firstTenAreKeptWithTheirPlaces() throws {
    var log = TestLog()
    for number in 1...12 { log.addCommit(number, time: "soon") }

    let rejections = try Parsed(log.bytes).rejections

    #expect(rejections.count == 12)
    #expect(rejections.first.count == 10)
    let offset = 1 + 42 + TestLog.author.utf8.count + 1
    #expect(
      rejections.first[0].description
        == "malformed record at byte \(offset), in commit \(TestLog.hash(1)): "
        + "its time is not a number of seconds")
  }
}
