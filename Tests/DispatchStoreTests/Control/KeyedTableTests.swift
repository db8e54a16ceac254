import Testing

@testable import DispatchStore

@Suite("A table by keys", .timeLimit(.minutes(10)))
struct KeyedTableTests {
  @Test func keepsNoMemoryForKeysThatCameAndWent() {
    let table = KeyedTable<Latch>()
    let keys = (0..<100_000).map { TypedKey($0) }
    for key in keys { _ = table.member(of: key) { Latch() } }
    #expect(table.count == 100_000 && table.capacity >= 100_000)
    for key in keys { table.remove(table.present(key), of: key) }
    #expect(table.count == 0 && table.capacity < 2_000)
  }
}
