import Testing

@testable import churn

/// The floor, and the batches that every replay is fed with.
@Suite struct PlainLoopTests {
  private func batches(
    _ log: TestLog, copies: Int = 1, progress: @escaping @Sendable (Int, Int) -> Void = { _, _ in }
  ) throws -> EventBatches {
    let folder = try TemporaryFolder()
    let spooler = Spooler(
      source: BytesSource(log.bytes), limit: nil, directory: folder.path
    ) { _ in }
    return EventBatches(log: try spooler.spool(), copies: copies, progress: progress)
  }

  @Test func takesInEveryEvent() throws {
    let result = try PlainLoop().replay(batches(.small))
    let answers = Answers(result.models)

    #expect(result.measurement.actions == 9)
    #expect(answers.commits == 3)
    #expect(answers.changes == 6)
    #expect(answers.linesByFile == [Path("src/a"): .lines(12), Path("icon"): .binary])
    #expect(
      answers.takeoversByAuthor == [
        "Ada <ada@example.org>": 1, "Ben <ben@example.org>": 1,
      ])
  }

  @Test(arguments: [2, 3, 5000])
  func everyCopyGivesTheAnswersOfOne(copies: Int) throws {
    let one = Answers(try PlainLoop().replay(batches(.small)).models)
    let many = try PlainLoop().replay(batches(.small, copies: copies))

    #expect(many.measurement.actions == 9 * copies)
    #expect(try Answers(many.models).ofOneCopy(among: copies) == one)
  }

  @Test func eachCommitFollowsItsChanges() throws {
    var events: [Event] = []
    try batches(.small, copies: 2).forEach { events += $0 }

    let kinds = events.map { event in
      if case .changed(let change) = event { change.path.copy } else { -1 }
    }
    #expect(kinds == [0, 0, 0, -1, 1, 1, 1, -1, 0, -1, 1, -1, 0, 0, -1, 1, 1, -1])
  }

  @Test func batchesAreBounded() throws {
    var sizes: [Int] = []
    try batches(.small, copies: 5000).forEach { sizes.append($0.count) }

    #expect(
      sizes == [EventBatches.capacity, EventBatches.capacity, 45000 - 2 * EventBatches.capacity])
  }

  @Test func aCommitWithoutATimeIsNotCommitted() throws {
    var log = TestLog()
    log.addCommit(1, time: "", .init("a", "A", added: 1))
    let result = try PlainLoop().replay(batches(log))

    #expect(result.measurement.actions == 1)
    #expect(Answers(result.models).commits == 0)
    #expect(Answers(result.models).linesByFile == [Path("a"): .lines(1)])
  }
}
