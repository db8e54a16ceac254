import DispatchStore
import DispatchStoreTesting
import Synchronization
import Testing

@testable import Recipes

@Suite struct BackgroundJobsTests {
  private struct NoConnection: Error {}

  @Test func anInvoiceIsMailedLaterWithOneKeyUntilItSucceeds() async throws {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(name: "test", clock: clock)
    dispatcher.onWarning { _ in }
    let database = MemoryDatabase()
    let persistence = try await database.open(
      for: dispatcher, actions: ActionCoder(Issue.self, Remind.self))
    let keys = Mutex<[String]>([])
    let invoices = try await startBilling(dispatcher) { _, key in
      let attempts = keys.withLock { keys in
        keys.append(key)
        return keys.count
      }
      if attempts == 1 { throw NoConnection() }
    }
    issueLater(7, by: dispatcher)
    #expect(dispatcher.scheduled.compactMap(\.name).sorted() == ["invoice 7", "remind"])
    let changes = invoices.stream(.part(\.sent))
    let advancing = Task {
      while !Task.isCancelled {
        await clock.waitForSleepers(atLeast: 1)
        clock.advanceToNextSleeper()
      }
    }
    for await change in changes where change.value == [7] { break }
    advancing.cancel()
    #expect(invoices.model.unsent.isEmpty)
    #expect(keys.withLock { $0.count } == 2)
    #expect(Set(keys.withLock { $0 }).count == 1)
    await dispatcher.drain()
    try await persistence.close()
  }
}
