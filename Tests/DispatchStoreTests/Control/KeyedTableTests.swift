import Testing

@testable import DispatchStore

@Suite("A table by keys", .timeLimit(.minutes(10)))
struct KeyedTableTests {
  @Test func keepsNoMemoryForKeysThatCameAndWent() {
    let table = KeyedTable<KeyedPlace>()
    var places = (0..<100_000).map { number in table.member(of: TypedKey(number)) { $0 } }
    withExtendedLifetime(places) {
      #expect(table.count == 100_000 && table.capacity >= 100_000)
    }
    places = []
    #expect(table.count == 0 && table.capacity < 2_000)
  }
}
