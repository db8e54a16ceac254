import DispatchStore
import DispatchStoreTesting
import Synchronization
import Testing

@testable import Recipes

@Suite struct BackgroundJobsTests {
  @Test func anInvoiceIsMailedOnceAfterAWeekWhateverTheDefaultsAre() async throws {
    let clock = VirtualClock()
    let requests = DispatchLimit(100)
    let dispatcher = Dispatcher(
      name: "test", defaults: [.timeout(.seconds(5)), .limited(by: requests)], clock: clock)
    let persistence = try await MemoryDatabase().open(
      for: dispatcher, actions: ActionCoder(Issue.self, Remind.self))
    let mails = Mutex<[Int]>([])
    let invoices = try await startBilling(dispatcher) { invoice, _ in
      mails.withLock { $0.append(invoice) }
    }
    issueLater(7, by: dispatcher)
    #expect(requests.statistics.inFlight == 0)
    #expect(dispatcher.scheduled.compactMap(\.name).sorted() == ["invoice 7", "remind"])
    clock.advance(by: .seconds(7 * 86_400 - 1))
    #expect(invoices.model.unsent.isEmpty)
    let changes = invoices.stream(.part(\.sent))
    clock.advance(by: .seconds(1))
    for await change in changes where change.value == [7] { break }
    #expect(invoices.model.unsent.isEmpty)
    #expect(mails.withLock { $0 } == [7])
    await dispatcher.drain()
    try await persistence.close()
  }
}
