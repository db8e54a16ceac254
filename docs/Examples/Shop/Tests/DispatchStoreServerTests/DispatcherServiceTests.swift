import DispatchStore
import DispatchStoreServer
import DispatchStoreTesting
import InMemoryLogging
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite struct DispatcherServiceTests {
  private let clock = VirtualClock()
  private let bank: Bank
  private let handler = InMemoryLogHandler()

  init() {
    bank = Bank(clock: clock)
  }

  private func service(
    persistence: Persistence? = nil, drainTimeout: Duration = .seconds(20)
  ) -> DispatcherService {
    let handler = handler
    return DispatcherService(
      bank.dispatcher, persistence: persistence, drainTimeout: drainTimeout,
      logger: Logger(label: "bank") { _ in handler })
  }

  @Test func gracefulShutdownAwaitsWhatIsUnderWay() async throws {
    let closed = AsyncStream.makeStream(of: Void.self)
    bank.dispatcher.register(
      effect: .longLived { _ in
        for await _ in AsyncStream.makeStream(of: Void.self).stream {}
        closed.continuation.finish()
      })
    let handle = bank.dispatcher.dispatch(Wait())
    await bank.waitUntilBegun()
    try await testGracefulShutdown { trigger in
      async let run: Void = service().run()
      trigger.triggerGracefulShutdown()
      for await _ in closed.stream {}
      #expect(
        await bank.dispatcher.send(Deposit(amount: 1)).dispatchError?.code == .dispatcherClosed)
      bank.end()
      try await run
    }
    #expect(await handle.result.isSuccess)
    #expect(handler.entries.map(\.level) == [.info])
  }

  @Test func aDrainThatTakesTooLongNamesWhatHangs() async throws {
    let service = service()
    let handle = bank.dispatcher.dispatch(Wait())
    await bank.waitUntilBegun()
    try await testGracefulShutdown { trigger in
      async let run: Void = service.run()
      trigger.triggerGracefulShutdown()
      await clock.waitForSleepers(atLeast: 1)
      clock.advance(by: .seconds(20))
      try await run
    }
    #expect(handler.entries.map(\.level) == [.error, .error])
    #expect(handler.entries.last?.metadata["actions"] == ["Wait"])
    bank.end()
    await handle.ended()
  }

  @Test func aDrainThatTakesTooLongNamesTheEffectsThatHang() async throws {
    let (begun, free) = (
      AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self)
    )
    bank.dispatcher.register(
      effect: Effect(Deposit.self) { _, _ in
        begun.continuation.finish()
        for await _ in free.stream {}
      })
    let service = service()
    let handle = bank.dispatcher.dispatch(Deposit(amount: 1))
    for await _ in begun.stream {}
    try await testGracefulShutdown { trigger in
      async let run: Void = service.run()
      trigger.triggerGracefulShutdown()
      await clock.waitForSleepers(atLeast: 1)
      clock.advance(by: .seconds(20))
      try await run
    }
    #expect(handler.entries.map(\.level) == [.error])
    let message = try #require(handler.entries.first?.message.description)
    #expect(message.contains("The effect on Deposit"))
    free.continuation.finish()
    await handle.settled()
  }

  @Test func thePersistenceIsClosedAfterTheDrain() async throws {
    let database = MemoryDatabase()
    let persistence = try await database.open(for: bank.dispatcher)
    let service = service(persistence: persistence)
    await #expect(throws: PersistenceError.self) {
      try await database.open(for: Dispatcher(name: "early"))
    }
    try await testGracefulShutdown { trigger in
      trigger.triggerGracefulShutdown()
      try await service.run()
    }
    // Only a closed database has no owner.
    let next = Dispatcher(name: "next")
    try await database.open(for: next).close()
  }

  @Test func theServiceEndsIfSavingHasFailed() async throws {
    let database = MemoryDatabase()
    let persistence = try await database.open(for: bank.dispatcher)
    let saved = try await bank.dispatcher.register(
      store: Store(identifier: "saved", model: 0) {
        On(Deposit.self) { count, _ in count += 1 }
      }, persisted: .model)
    bank.dispatcher.onWarning { _ in }
    let group = ServiceGroup(
      services: [service(persistence: persistence)], logger: Logger(label: "group"))
    let run = Task { try await group.run() }
    database.fail(.inputOutput)
    #expect(await saved.send(Deposit(amount: 1)).dispatchError?.code == .persistenceFailed)
    await #expect(throws: PersistenceError.self) { try await run.value }
    #expect(bank.dispatcher.isClosed)
  }

  @Test func anIdleServiceThatLosesItsDatabaseEndsWithTheReason() async throws {
    let database = MemoryDatabase()
    let persistence = try await database.open(for: bank.dispatcher)
    bank.dispatcher.onWarning { _ in }
    database.fail(.inputOutput)
    await #expect(throws: PersistenceError.self) {
      try await bank.dispatcher.register(
        store: Store(identifier: "saved", model: 0) {
          On(Deposit.self) { count, _ in count += 1 }
        }, persisted: .model)
    }
    let error = await #expect(throws: PersistenceError.self) {
      try await service(persistence: persistence).run()
    }
    #expect(error?.code == .inputOutput)
    #expect(bank.dispatcher.isClosed)
  }

  @Test func aCancelledServiceShutsDownAtOnce() async throws {
    let handle = bank.dispatcher.dispatch(Wait())
    await bank.waitUntilBegun()
    let service = service()
    let run = Task { try await service.run() }
    run.cancel()
    try await run.value
    #expect(bank.dispatcher.isClosed)
    #expect(handler.entries.first?.level == .error)
    bank.end()
    await handle.ended()
  }

  @Test func readinessFailsBeforeTheNextServiceEnds() async throws {
    let readiness = Readiness(of: bank.dispatcher, delay: .seconds(5), clock: clock)
    #expect(readiness.problem == nil)
    try await testGracefulShutdown { trigger in
      async let run: Void = readiness.run()
      trigger.triggerGracefulShutdown()
      await clock.waitForSleepers(atLeast: 1)
      #expect(readiness.problem != nil)
      #expect(!bank.dispatcher.isClosed)
      clock.advance(by: .seconds(5))
      try await run
    }
  }

  @Test func aGroupEndsReadinessThenServerThenDispatcher() async throws {
    let order = AsyncStream.makeStream(of: String.self)
    struct Server: Service {
      let order: AsyncStream<String>.Continuation
      let dispatcher: Dispatcher
      func run() async throws {
        try await gracefulShutdown()
        order.yield(dispatcher.isClosed ? "closed" : "open")
      }
    }
    let readiness = Readiness(of: bank.dispatcher, delay: .zero)
    let server = Server(order: order.continuation, dispatcher: bank.dispatcher)
    let group = ServiceGroup(
      services: [service(), server, readiness], logger: Logger(label: "group"))
    async let run: Void = group.run()
    await group.triggerGracefulShutdown()
    try await run
    order.continuation.finish()
    var seen: [String] = []
    for await word in order.stream { seen.append(word) }
    #expect(seen == ["open"])
    #expect(bank.dispatcher.isClosed)
  }
}
