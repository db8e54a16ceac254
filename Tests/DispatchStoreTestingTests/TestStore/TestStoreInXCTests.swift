import DispatchStore
import DispatchStoreTesting
import XCTest

final class TestStoreInXCTests: XCTestCase {
  func testAssertsChangesAndWhatFollowedInEveryMode() async {
    for mode in Dispatcher.Mode.allBuiltIn {
      let testStore = AccountTest(reducer: AccountReducer(mode: mode), mode: mode)
      testStore.dispatcher.addLedger()
      await testStore.send(.depositAndLog(1)) { $0.balance = 1 }
      await testStore.receive(LedgerAction.entry("deposit"))
      await testStore.receive(LedgerAction.entry("done"))
      await testStore.finish()
    }
  }
}
