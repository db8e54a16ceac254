import Testing

@testable import DispatchStore

@Suite("The table of idempotency keys")
struct KeyTableTests {
  private final class Run: Sendable {}
  private typealias Table = KeyTable<Run, String>

  private func isNew(_ entry: Table.Entry?) -> Bool { entry.map { _ in false } ?? true }

  private func record(of entry: Table.Entry?) -> String? {
    if case .recorded(let record, _)? = entry { record } else { nil }
  }

  @Test func hasAKeyInFlightUntilItIsLeft() {
    var table = Table(capacity: 10)
    let (first, second) = (Run(), Run())
    #expect(isNew(table.begin("a") { first }))
    guard case .inFlight(let run)? = table.begin("a", { second }) else {
      Issue.record("The key is not in flight.")
      return
    }
    #expect(run === first)
    table.leave(second, "a")
    #expect(!isNew(table["a"]))
    table.leave(first, "a")
    #expect(isNew(table["a"]))
    #expect(table.count == 0)
  }

  @Test func hasARecordUntilItsTime() {
    var table = Table(capacity: 10)
    #expect(isNew(table.begin("a") { Run() }))
    #expect(!isNew(table.record("done", "a", until: 5)))
    #expect(record(of: table.begin("a") { Run() }) == "done")
    #expect(table.trim(now: 4).isEmpty)
    #expect(table.trim(now: 5).map(\.key) == ["a"])
    #expect(isNew(table["a"]))
  }

  @Test func forgetsFirstWhatWouldBeForgottenNext() {
    var table = Table(capacity: 2)
    for (key, time) in [("a", 30), ("b", 10), ("c", 20)] {
      #expect(isNew(table.record(key, key, until: Int64(time))))
    }
    #expect(table.trim(now: 0).map(\.key) == ["b"])
    table.capacity = 0
    #expect(table.trim(now: 0).map(\.key) == ["c", "a"])
    #expect(table.count == 0)
  }

  @Test func replacesARecordAndItsTime() {
    var table = Table(capacity: 10)
    #expect(isNew(table.record("first", "a", until: 1)))
    #expect(record(of: table.record("second", "a", until: 5)) == "first")
    #expect(table.trim(now: 1).isEmpty)
    #expect(table.count == 1)
    #expect(record(of: table.forget("a")) == "second")
    #expect(isNew(table.forget("a")))
  }
}
