import DispatchStore
import Testing

@testable import churn

/// The four models after a history.
@Suite struct ModelsTests {
  private func models(_ events: [Event]) -> Models {
    events.reduce(into: Models()) { $0.take($1) }
  }

  private func change(
    _ path: String, by author: ByteString, _ kind: churn::Change.Kind = .modified, added: Int = 0,
    deleted: Int = 0
  ) -> Event {
    .changed(
      churn::Change(
        path: Path(ByteString(path)), author: author, kind: kind,
        lines: LineCount(added: added, deleted: deleted)))
  }

  @Test func aChangeTakesOverWhatAnotherChangedLast() {
    let models = models([
      change("a", by: "Ada", .created), change("a", by: "Ada"), change("a", by: "Ben"),
      change("a", by: "Ben"), change("a", by: "Ada"), change("b", by: "Ben", .created),
    ])

    #expect(models.authors.authors.dictionary.mapValues(\.takeovers) == ["Ada": 1, "Ben": 1])
  }

  @Test func aPathThatReturnsAfterItsDeletionHasNotForgottenItsLastAuthor() {
    let models = models([
      change("a", by: "Ada", .created, added: 3), change("a", by: "Ada", .deleted, deleted: 3),
      change("a", by: "Ben", .created, added: 4),
    ])

    #expect(models.authors.authors["Ben"]?.takeovers == 1)
    #expect(Answers(models).linesByFile == [Path("a"): .lines(4)])
  }

  @Test func aDeletedPathIsNoFileAndItsChurnCounts() {
    let models = models([
      change("dir/a", by: "Ada", .created, added: 3),
      change("dir/a", by: "Ada", .deleted, deleted: 3),
    ])

    #expect(Answers(models).linesByFile.isEmpty)
    #expect(Answers(models).lastAuthorByFile.isEmpty)
    #expect(models.folders.churn.dictionary == [Path("dir"): 6])
  }

  @Test func aPathThatWasEverBinaryHasNoCountOfLines() {
    let binary = churn::Change(path: Path("a"), author: "Ada", kind: .created, lines: nil)
    let models = models([.changed(binary), change("a", by: "Ada", added: 3)])

    #expect(Answers(models).linesByFile == [Path("a"): .binary])
  }

  @Test func commitsCountForTheirAuthorAndTheirDay() {
    let day = Day(ofSecond: 86_399)
    let next = Day(ofSecond: 86_400)
    let models = models([
      .committed(Commit(hash: "1", author: "Ada", day: day)),
      .committed(Commit(hash: "2", author: "Ada", day: next)),
      .committed(Commit(hash: "3", author: "Ben", day: next)),
    ])

    #expect(models.days.commits.dictionary == [day: 1, next: 2])
    #expect(Answers(models).commitsByAuthor == ["Ada": 2, "Ben": 1])
    #expect(Answers(models).commits == 3)
  }

  @Test(arguments: [
    (0, "1970-01-01"), (-1, "1969-12-31"), (951_782_399, "2000-02-28"),
    (951_782_400, "2000-02-29"), (951_868_800, "2000-03-01"), (4_107_542_399, "2100-02-28"),
    (4_107_542_400, "2100-03-01"), (946_477_226, "1999-12-29"), (253_402_300_800, "10000-01-01"),
    (-62_167_219_200, "0000-01-01"),
  ])
  func aDayIsThatOfTheUTCCalendar(second: Int, text: String) {
    #expect(Day(ofSecond: second).description == text)
  }
}
