import DispatchStore
import DispatchStoreServer
import DispatchStoreTesting
import Foundation
import InMemoryLogging
import InMemoryTracing
import Logging
import Testing
import Tracing

@Suite struct DispatchLoggerTests {
  private let bank = Bank()
  private let handler = InMemoryLogHandler()

  /// Logs the bank's dispatches at this level and above.
  private func log(from level: Logger.Level) {
    let handler = handler
    var logger = Logger(label: "bank") { _ in handler }
    logger.logLevel = level
    bank.dispatcher.instrument(logger: logger)
  }

  private var entries: [InMemoryLogHandler.Entry] { handler.entries }

  @Test(arguments: Way.allCases)
  func aFinishedRunIsLoggedAtDebugWithMetadata(way: Way) async throws {
    log(from: .debug)
    let result = await way.run(Deposit(amount: 1), by: bank.dispatcher)
    let entry = try #require(entries.first)
    #expect(entries.count == 1)
    #expect(entry.level == .debug)
    #expect(entry.message == "Deposit finished")
    #expect(entry.metadata["dispatch"] == "\(result.dispatchID)")
    #expect(entry.metadata["parent"] == nil)
    #expect(entry.metadata["store"] == "account")
    #expect(entry.metadata["lane"] == "\(way.mode)")
    #expect(entry.metadata["outcome"] == "finished")
    #expect(Double("\(entry.metadata["duration_ms"]!)") != nil)
    #expect(Double("\(entry.metadata["queued_ms"]!)") != nil)
  }

  @Test func aLaneIsShownAsTheProgramSays() async throws {
    let (handler, tracer) = (handler, InMemoryTracer())
    var logger = Logger(label: "bank") { _ in handler }
    logger.logLevel = .debug
    bank.dispatcher.instrument(logger: logger, tracer: tracer, lane: { _ in "account" })
    await bank.dispatcher.send(Deposit(amount: 1), mode: .serial(lane: "ann"))
    #expect(entries.first?.metadata["lane"] == "account")
    let spans = tracer.finishedSpans.compactMap { $0.attributes.get("dispatch.lane") }
    #expect(spans == ["account".toSpanAttribute()])
  }

  @Test(arguments: Way.allCases)
  func aFinishedRunIsNotLoggedAtInfo(way: Way) async {
    log(from: .info)
    await way.run(Deposit(amount: 1), by: bank.dispatcher)
    #expect(entries.isEmpty)
  }

  @Test(arguments: Way.allCases)
  func aHandlersErrorIsLoggedAsError(way: Way) async {
    log(from: .info)
    await way.run(Withdraw(amount: 900), by: bank.dispatcher)
    #expect(entries.map(\.level) == [.error])
    #expect(entries.first?.error is Overdrawn)
  }

  @Test(arguments: Way.allCases)
  func aVetoIsNoError(way: Way) async {
    log(from: .info)
    bank.dispatcher.register(.before(Deposit.self) { _, _ in .veto(reason: "closed") })
    await way.run(Deposit(amount: 1), by: bank.dispatcher)
    #expect(entries.map(\.level) == [.info])
    #expect(entries.first?.metadata["outcome"] == "vetoed")
  }

  @Test func aDispatchThatALimitDropsIsNoError() async {
    log(from: .info)
    let limit = DispatchLimit(1, overflow: .dropOldest)
    bank.dispatcher.queue.isSuspended = true
    let dropped = bank.dispatcher.dispatch(
      Deposit(amount: 1), mode: .serial, options: .limited(by: limit))
    let next = bank.dispatcher.dispatch(
      Deposit(amount: 1), mode: .serial, options: .limited(by: limit))
    #expect(await dropped.result.dispatchError?.code == .dropped)
    bank.dispatcher.queue.isSuspended = false
    await next.ended()
    #expect(entries.map(\.level) == [.info, .info])
    #expect(entries.map { $0.metadata["outcome"] } == ["cancelled", "refused"])
  }

  @Test func anOpeningBreakerIsAWarningAndItsOtherChangesAreNone() async {
    let clock = VirtualClock()
    let bank = Bank(clock: clock)
    let handler = handler
    let logger = Logger(label: "bank") { _ in handler }
    let breaker = CircuitBreaker(
      failures: 1, pause: .seconds(30), onChange: { logger.log($0, ofBreaker: "bank") })
    await bank.dispatcher.send(Withdraw(amount: 900), options: .guarded(by: breaker))
    clock.advance(by: .seconds(30))
    await bank.dispatcher.send(Deposit(amount: 1), options: .guarded(by: breaker))
    #expect(entries.map(\.level) == [.warning, .info, .info])
    #expect(entries.map { $0.metadata["state"] } == ["open", "halfOpen", "closed"])
    #expect(entries.first?.message == "The circuit breaker bank is open.")
  }

  @Test func whatABreakerRefusesInItsTurnIsNoError() async {
    log(from: .info)
    let breaker = CircuitBreaker(failures: 1)
    bank.dispatcher.queue.isSuspended = true
    let handles = [Withdraw(amount: 900), Withdraw(amount: 1)].map {
      bank.dispatcher.dispatch($0, mode: .serial, options: .guarded(by: breaker))
    }
    bank.dispatcher.queue.isSuspended = false
    #expect(await handles[1].result.dispatchError?.code == .circuitOpen)
    await bank.dispatcher.drain()
    #expect(entries.map(\.level) == [.error, .info, .info])
  }

  @Test func aCancellationIsNoError() async {
    log(from: .info)
    let handle = bank.dispatcher.dispatch(Wait(), mode: .serial)
    await bank.waitUntilBegun()
    handle.cancel()
    await handle.ended()
    await bank.dispatcher.drain()
    #expect(entries.map(\.level) == [.info])
    #expect(entries.first?.metadata["outcome"] == "cancelled")
  }

  @Test func aTimeOutIsAWarning() async {
    log(from: .info)
    bank.dispatcher.queue.isSuspended = true
    let handle = bank.dispatcher.dispatch(
      Deposit(amount: 1), mode: .serial, options: .timeout(.milliseconds(1)))
    await handle.ended()
    bank.dispatcher.queue.isSuspended = false
    await bank.dispatcher.drain()
    #expect(entries.map(\.level).max() == .warning)
    #expect(entries.map { $0.metadata["outcome"] }.contains("timedOut"))
  }

  @Test func aNestedDispatchNamesItsParent() async throws {
    log(from: .debug)
    let outer = await bank.dispatcher.send(Transfer(amount: 1)).result
    let inner = try #require(entries.first)
    #expect(entries.map(\.message) == ["Deposit finished", "Transfer finished"])
    #expect(inner.metadata["parent"] == "\(outer.dispatchID)")
  }

  @Test func eachAttemptOfARetryIsLogged() async {
    log(from: .info)
    await bank.dispatcher.send(
      Withdraw(amount: 900), options: .retry(attempts: 3, backoff: .none))
    #expect(entries.map(\.level) == [.error, .error, .error])
  }

  @Test func errorsHaveTheLevelThatYouChoose() async {
    let handler = handler
    let logger = Logger(label: "bank") { _ in handler }
    bank.dispatcher.instrument(
      DispatchLogger(logger) { $0 is Overdrawn ? .notice : DispatchLogger.level(of: $0) })
    await bank.dispatcher.send(Withdraw(amount: 900))
    #expect(entries.map(\.level) == [.notice])
  }

  @Test func anAnswerIsLoggedLikeAFinishedRun() async {
    bank.dispatcher.register(
      store: Store(identifier: "orders", model: 0) {
        On(Buy.self) { count, _ in count += 1 }
      }, waitFor: [bank.account])
    log(from: .debug)
    let error = await bank.dispatcher.send(Buy()).error
    #expect(error is SoldOut)
    #expect(entries.map(\.level) == [.debug, .debug])
    #expect(entries.map { $0.metadata["outcome"] } == ["answered", "answered"])
  }

  @Test func failedEffectsHaveALineASecondAndTheNextOneCountsThem() async {
    let (clock, handler) = (VirtualClock(), handler)
    var logger = Logger(label: "bank") { _ in handler }
    logger.logLevel = .info
    bank.dispatcher.instrument(DispatchLogger(logger, clock: clock))
    bank.dispatcher.register(effect: Effect(Deposit.self) { _, _ in throw Overdrawn() })
    for second in 1...2 {
      for _ in 1...3 { await bank.dispatcher.dispatch(Deposit(amount: 1)).settled() }
      #expect(entries.count == second)
      clock.advance(by: .seconds(1))
    }
    let counts = entries.map { $0.message.description.hasSuffix("(and 2 more before it)") }
    #expect(counts == [false, true])
  }

  @Test func anAbsentPrerequisiteHasALineASecond() async {
    final class Waiting: Reducer<Int, Deposit> {
      override func reduce(into count: inout Int, action: Deposit) { count += 1 }

      override func waitFor(
        for action: Deposit, in store: Store<Int, Deposit>, declared: WaitFor
      ) -> WaitFor { ["absent"] }
    }
    let handler = handler
    var logger = Logger(label: "bank") { _ in handler }
    logger.logLevel = .info
    bank.dispatcher.instrument(DispatchLogger(logger, clock: VirtualClock()))
    bank.dispatcher.register(
      store: Store(identifier: "waiting", model: 0, reducer: Waiting()))
    for _ in 1...3 { await bank.dispatcher.send(Deposit(amount: 1)) }
    #expect(entries.map { $0.metadata["kind"] } == ["absentPrerequisite"])
  }

  @Test func aWarningOfTheLibraryIsLoggedAsWarning() async {
    log(from: .info)
    struct Unknown: ActionType {}
    await bank.dispatcher.send(Unknown())
    #expect(entries.map(\.level) == [.warning])
    #expect(entries.first?.metadata["kind"] == "noResponder")
  }
}
