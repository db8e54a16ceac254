import Testing

@testable import churn

/// The answers, and their comparison with others.
@Suite struct AnswersTests {
  private var answers: Answers {
    Answers(
      commits: 2, changes: 3, commitsByAuthor: ["Ada": 2], addedByAuthor: ["Ada": 5],
      deletedByAuthor: ["Ada": 1], takeoversByAuthor: ["Ada": 0],
      linesByFile: [Path("a"): .lines(4), Path("b"): .binary],
      lastAuthorByFile: [Path("a"): "Ada", Path("b"): "Ada"], churnByFolder: [Path("."): 6],
      commitsByDay: [Day(ofSecond: 0): 2])
  }

  /// The answers of two copies together.
  private var doubled: Answers {
    var doubled = answers
    doubled.commits = 4
    doubled.changes = 6
    doubled.commitsByAuthor = ["Ada": 4]
    doubled.addedByAuthor = ["Ada": 10]
    doubled.deletedByAuthor = ["Ada": 2]
    doubled.commitsByDay = [Day(ofSecond: 0): 4]
    for (path, size) in answers.linesByFile {
      doubled.linesByFile[Path(path.name, copy: 1)] = size
      doubled.lastAuthorByFile[Path(path.name, copy: 1)] = "Ada"
    }
    doubled.churnByFolder[Path(".", copy: 1)] = 6
    return doubled
  }

  @Test func equalAnswersDoNotDiffer() {
    #expect(answers.differences(from: answers).isEmpty)
  }

  @Test func namesTheFiguresThatDifferWithBothValues() {
    var other = answers
    other.changes = 4
    other.linesByFile[Path("a")] = .lines(5)
    other.linesByFile[Path("c")] = .binary
    other.lastAuthorByFile[Path("b")] = nil

    #expect(
      other.differences(from: answers).map(\.description) == [
        "changes: 4 instead of 3",
        "linesByFile: 'a' 5 instead of 4, 'c' binary instead of none",
        "lastAuthorByFile: 'b' none instead of Ada",
      ])
  }

  @Test func showsTheFirstFewOfManyDifferences() {
    var other = answers
    for number in 1...9 { other.churnByFolder[Path(ByteString("\(number)"))] = 1 }

    let difference = other.differences(from: answers).first

    #expect(difference?.count == 9)
    #expect(
      difference?.description
        == "churnByFolder: '1' 1 instead of none, '2' 1 instead of none, '3' 1 instead of none, "
        + "and 6 more")
  }

  @Test func copiesThatAgreeGiveTheAnswersOfOne() throws {
    #expect(try doubled.ofOneCopy(among: 2) == answers)
    #expect(try answers.ofOneCopy(among: 1) == answers)
  }

  @Test func copiesThatDisagreeAreNamed() {
    var odd = doubled
    odd.addedByAuthor["Ada"] = 11
    var unlike = doubled
    unlike.linesByFile[Path("a", copy: 1)] = .lines(7)
    var missing = doubled
    missing.churnByFolder[Path(".", copy: 1)] = nil

    #expect(
      throws: Failure(
        .software,
        "the copies disagree in addedByAuthor of 'Ada': 11 in all do not divide by 2")
    ) { try odd.ofOneCopy(among: 2) }
    #expect(
      throws: Failure(
        .software,
        "the copies disagree in linesByFile of 'a (copy 1)': not as in the first copy")
    ) { try unlike.ofOneCopy(among: 2) }
    #expect(
      throws: Failure(
        .software, "the copies disagree in churnByFolder: 1 keys in all, 1 in the first")
    ) { try missing.ofOneCopy(among: 2) }
  }

  @Test func aDifferenceOfOrderBreaksOnlyAPromiseOfOrder() {
    var other = answers
    other.takeoversByAuthor["Ada"] = 1
    let differences = other.differences(from: answers)
    let measurement = Measurement(
      name: "", producers: 1, actions: 0, seconds: 0, latencies: LatencyHistogram())

    let trial = Trial(measurement, floor: measurement, differences: differences)
    let ordered = Verdict(of: [trial], promisesOrder: true)
    let unordered = Verdict(of: [trial], promisesOrder: false)

    #expect(ordered.broken.map(\.figure) == [.takeoversByAuthor])
    #expect(unordered.broken.isEmpty)
    #expect(!ordered.orderedFiguresHeld && !unordered.orderedFiguresHeld)
  }

  @Test func aDifferenceOfAnyOtherFigureInAnyRoundBreaksEveryPromise() {
    var other = answers
    other.commits = 1
    let measurement = Measurement(
      name: "", producers: 1, actions: 0, seconds: 0, latencies: LatencyHistogram())
    let trials = [other, answers].map {
      Trial(measurement, floor: measurement, differences: $0.differences(from: answers))
    }
    let verdict = Verdict(of: trials, promisesOrder: false)

    #expect(verdict.broken.map(\.figure) == [.commits])
    #expect(verdict.orderedFiguresHeld)
  }
}
