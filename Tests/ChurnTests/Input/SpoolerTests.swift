import Testing

@testable import churn

/// Writing a log to its temporary file, and reading it.
@Suite struct SpoolerTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func spool(_ source: BytesSource, limit: Int? = nil) throws -> SpooledLog {
    try Spooler(source: source, limit: limit, directory: folder.path) { _ in }.spool()
  }

  @Test func everyReadingGivesTheSameCommitsAsTheFirst() throws {
    let log = try spool(BytesSource(TestLog.small.bytes, blockLength: 13))
    let expected = try Parsed(TestLog.small.bytes).commits

    for _ in 1...2 {
      var commits: [LoggedCommit] = []
      try log.forEachCommit { commits.append($0) }
      #expect(commits == expected)
    }
    #expect(log.summary.commits == 3)
    #expect(log.summary.changes == 6)
    #expect(log.summary.lastHash?.text == TestLog.hash(3))
  }

  @Test func tellsThatItBeginsBeforeThereIsAnythingToRead() throws {
    var shown: [Int] = []
    let source = BytesSource(TestLog.small.bytes)
    _ = try Spooler(source: source, limit: nil, directory: folder.path) {
      shown.append($0.commits)
    }.spool()

    #expect(shown.first == 0)
  }

  @Test func leavesNoFileBehind() throws {
    let log = try spool(BytesSource(TestLog.small.bytes))

    let names = try folder.names
    withExtendedLifetime(log) { #expect(names.isEmpty) }
  }

  @Test func stopsItsSourceAtTheLimit() throws {
    let source = BytesSource(TestLog.small.bytes, blockLength: 50)
    let log = try spool(source, limit: 1)

    #expect(source.wasStopped)
    #expect(log.summary.commits == 1)
    var count = 0
    try log.forEachCommit { _ in count += 1 }
    #expect(count == 1)
  }

  @Test func passesOnThatItsSourceFailedAndHowFarItHadCome() throws {
    let bytes = TestLog.small.bytes
    let source = BytesSource(bytes, failure: Failure(.unavailable, "out of order"))

    let message =
      "out of order; \(bytes.count) bytes had come, up to commit \(TestLog.hash(2))"
    #expect(throws: Failure(.unavailable, message)) { try spool(source) }
  }

  @Test func saysWhichLogIsWrong() throws {
    #expect(throws: Failure(.dataError, "the source: the log is empty")) {
      try spool(BytesSource([]))
    }
  }

  @Test func saysThatThereIsNoPlaceForATemporaryFile() throws {
    let spooler = Spooler(
      source: BytesSource([]), limit: nil, directory: "\(folder.path)/missing"
    ) { _ in }

    #expect(throws: Failure.self) { try spooler.spool() }
  }
}
