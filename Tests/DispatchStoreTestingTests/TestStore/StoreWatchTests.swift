import DispatchStore
import Testing

@testable import DispatchStoreTesting

@Suite("The progress of assertions about a store")
struct StoreWatchTests {
  struct Find: ActionType {}

  /// Another task has asserted the commit meanwhile, which has released its model.
  @Test func readsNoReleasedModelAsNil() {
    let testStore = TestStore(
      Store(identifier: "found", model: Int?.some(1)) {
        On(Find.self) { found, _ in found = 2 }
      })
    let released = RecordedCommit(version: 1, model: nil, dispatchID: nil, at: 1)
    let (before, after) = testStore.watch.advance(to: released)
    #expect(before == 1)
    #expect(after == 1)
    #expect(testStore.watch.version == 0)
  }
}
