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
    try await issueLater(7, by: dispatcher, savedIn: persistence)
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

  @Test func anInvoiceForLaterIsRefusedOnceTheServiceEnds() async throws {
    let dispatcher = Dispatcher(name: "test", clock: VirtualClock())
    let persistence = try await MemoryDatabase().open(
      for: dispatcher, actions: ActionCoder(Issue.self, Remind.self))
    _ = try await startBilling(dispatcher) { _, _ in }
    await dispatcher.drain()
    await #expect(throws: DispatchError.self) {
      try await issueLater(7, by: dispatcher, savedIn: persistence)
    }
    try await persistence.close()
  }

  @Test func anInvoiceThatWasSentIsNotMailedAgain() async throws {
    let dispatcher = Dispatcher(name: "test", clock: VirtualClock())
    let persistence = try await MemoryDatabase().open(
      for: dispatcher, actions: ActionCoder(Issue.self, Remind.self))
    let mails = Mutex<[Int]>([])
    let invoices = try await startBilling(dispatcher) { invoice, _ in
      mails.withLock { $0.append(invoice) }
    }
    for _ in 1...2 { await invoices.dispatch(Issue(invoice: 7)).settled() }
    #expect(mails.withLock { $0 } == [7])
    #expect(invoices.model.unsent.isEmpty && invoices.model.sent == [7])
    await dispatcher.drain()
    try await persistence.close()
  }

  @Test func anInvoiceThatAHandlerIssuesForLaterOutlastsTheHandlersDeadline() async throws {
    struct Order: ActionType { let invoice: Int }
    let clock = VirtualClock()
    let dispatcher = Dispatcher(name: "test", defaults: .timeout(.seconds(5)), clock: clock)
    let persistence = try await MemoryDatabase().open(
      for: dispatcher, actions: ActionCoder(Issue.self, Remind.self))
    _ = try await startBilling(dispatcher) { _, _ in }
    let orders = dispatcher.register(
      store: Store(identifier: "orders", model: 0) {
        Perform(Order.self) { order, context in
          try await issueLater(order.invoice, by: context.dispatcher, savedIn: persistence)
        }
      })
    #expect(await orders.send(Order(invoice: 7)).isSuccess)
    clock.advance(by: .seconds(6))
    #expect(dispatcher.scheduled.compactMap(\.name).sorted() == ["invoice 7", "remind"])
    await dispatcher.drain()
    try await persistence.close()
  }

  @Test func anInvoiceThatWasIssuedForLaterSurvivesACrash() async throws {
    let (database, clock) = (MemoryDatabase(), VirtualClock())
    let actions = ActionCoder(Issue.self, Remind.self)
    let former = Dispatcher(name: "test", clock: clock)
    former.onWarning { _ in }
    let formerPersistence = try await database.open(for: former, actions: actions)
    _ = try await startBilling(former) { _, _ in }
    try await issueLater(7, by: former, savedIn: formerPersistence)
    database.crash()
    let dispatcher = Dispatcher(name: "test", clock: clock)
    let persistence = try await database.open(for: dispatcher, actions: actions)
    _ = try await startBilling(dispatcher) { _, _ in }
    #expect(dispatcher.scheduled.compactMap(\.name).contains("invoice 7"))
    await dispatcher.drain()
    try await persistence.close()
  }
}
