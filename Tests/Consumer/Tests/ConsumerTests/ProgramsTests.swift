import DispatchStore
import Foundation
import Testing

@testable import Programs

private let modes: [Dispatcher.Mode] = [.async, .sync, .serial, .mainThread]

@Suite(.timeLimit(.minutes(1)))
struct ProgramsTests {
  @Test func aCounterCounts() {
    #expect(countToOne() == 1)
  }

  @Test func theAuditReadsWhatTheAccountsSettled() async {
    let bank = Bank(balances: ["ann": 10])
    let result = await bank.transfer(7, from: "ann", to: "bob")
    #expect(result.isSuccess)
    #expect(result.stores.map(\.storeIdentifier) == ["accounts", "audit"])
    #expect(bank.accounts.model.balances == ["ann": 3, "bob": 7])
    #expect(bank.audit.model.lines == ["ann has 3 left"])
  }

  @Test func anOverdraftFailsTheAuditToo() async {
    let bank = Bank(balances: ["ann": 1])
    let result = await bank.transfer(7, from: "ann", to: "bob")
    #expect(throws: Overdrawn(account: "ann")) { try result.get() }
    #expect((result["audit"].error as? DispatchError)?.code == .dependencyFailed)
    #expect(bank.audit.model.lines.isEmpty)
  }

  @Test func chainsOfClosuresRunInOrder() async {
    let (dispatcher, counter) = makeCounter()
    let result = await withCheckedContinuation { continuation in
      upUpDown(dispatcher) { continuation.resume(returning: $0) }
    }
    #expect(result.isSuccess)
    #expect(counter.model.count == 1)
    #expect(counter.version == 3)
  }

  @Test func awaitedChainsRunInOrder() async throws {
    let (dispatcher, counter) = makeCounter()
    #expect(try await upUpDown(dispatcher).isSuccess)
    #expect(counter.model.count == 1)
    #expect(counter.version == 3)
  }

  @Test func maintenanceVetoesTransfersAsLongAsItIsRegistered() async {
    let bank = Bank(balances: ["ann": 10])
    #expect(await transferDuringMaintenance(in: bank) == "closed for maintenance")
    #expect(bank.accounts.version == 0)
    #expect(await bank.transfer(1, from: "ann", to: "bob").isSuccess)
  }

  @Test(arguments: modes)
  func anOperationFinishesFromACallback(_ mode: Dispatcher.Mode) async throws {
    try await load(with: CallbackPageReducer(), mode: mode)
  }

  @Test(arguments: modes)
  func anOperationRunsAnAsyncBlock(_ mode: Dispatcher.Mode) async throws {
    try await load(with: AsyncPageReducer(), mode: mode)
  }

  private func load(
    with reducer: sending Reducer<Page, Page.Action>, mode: Dispatcher.Mode
  ) async throws {
    let dispatcher = Dispatcher()
    let page = dispatcher.register(store: Store(reducer: reducer))
    let url = try #require(URL(string: "https://example.org/"))
    try await page.dispatch(.load(url), mode: mode).get()
    #expect(page.model.text == "text of https://example.org/")
  }

  @Test func aLanePerAccountKeepsEachPayersOrder() async throws {
    let bank = Bank(balances: ["ann": 1, "bob": 100, "cat": 100])
    // Ann can pay only what she has just been paid, so her second transfer needs her first.
    try await bank.transfer([
      Transfer(from: "bob", to: "dan", amount: 50),
      Transfer(from: "ann", to: "ann", amount: 1),
      Transfer(from: "bob", to: "dan", amount: 50),
      Transfer(from: "cat", to: "dan", amount: 100),
      Transfer(from: "ann", to: "dan", amount: 1),
    ])
    #expect(bank.accounts.model.balances == ["ann": 0, "bob": 0, "cat": 0, "dan": 201])
  }

  @Test func operationsRunInAUsersQueue() {
    let counter = Store<Counter, Counter.Action>(reducer: CounterReducer())
    #expect(incrementThenMultiply(counter) == 10)
  }

  private func makeCounter() -> (Dispatcher, Store<Counter, Counter.Action>) {
    let dispatcher = Dispatcher()
    return (dispatcher, dispatcher.register(store: Store(reducer: CounterReducer())))
  }
}
