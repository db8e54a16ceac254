import Testing

@testable import churn

/// The floor, and the batches of every replay.
@Suite struct PlainLoopTests {
  @Test func takesInEveryEvent() throws {
    let result = try PlainLoop().replay(TestLog.small.batches())
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

  @Test(arguments: [2, 3, 500])
  func everyCopyGivesTheAnswersOfOne(copies: Int) throws {
    let one = Answers(try PlainLoop().replay(TestLog.small.batches()).models)
    let many = try PlainLoop().replay(TestLog.small.batches(copies: copies))

    #expect(many.measurement.actions == 9 * copies)
    #expect(try Answers(many.models).ofOneCopy(among: copies) == one)
  }

  @Test func eachCommitFollowsItsChanges() throws {
    var events: [Event] = []
    try TestLog.small.batches(copies: 2).forEach { events += $0 }

    let kinds = events.map { event in
      if case .changed(let change) = event { change.path.copy } else { -1 }
    }
    #expect(kinds == [0, 0, 0, -1, 1, 1, 1, -1, 0, -1, 1, -1, 0, 0, -1, 1, 1, -1])
  }

  @Test func batchesAreBounded() throws {
    var sizes: [Int] = []
    try TestLog.small.batches(copies: 50, capacity: 200).forEach { sizes.append($0.count) }

    #expect(sizes == [200, 200, 50])
  }

  @Test func aCommitWithoutATimeIsNotCommitted() throws {
    var log = TestLog()
    log.addCommit(1, time: "", .init("a", "A", added: 1))
    let result = try PlainLoop().replay(log.batches())

    #expect(result.measurement.actions == 1)
    #expect(Answers(result.models).commits == 0)
    #expect(Answers(result.models).linesByFile == [Path("a"): .lines(1)])
  }
}
