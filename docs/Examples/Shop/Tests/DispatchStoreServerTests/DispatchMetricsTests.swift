import DispatchStore
import DispatchStoreServer
import DispatchStoreTesting
import Foundation
import Logging
import Metrics
import MetricsTestKit
import Synchronization
import Testing

@Suite struct DispatchMetricsTests {
  private let bank = Bank()
  private let backend = TestMetrics()

  @discardableResult
  private func instrument(
    limits: [String: DispatchLimit] = [:], rateLimits: [String: RateLimit] = [:],
    breakers: [String: CircuitBreaker] = [:], persistence: Persistence? = nil,
    storeLabel: @escaping @Sendable (String) -> String = { $0 }
  ) -> DispatchMetrics {
    let metrics = DispatchMetrics(
      of: bank.dispatcher, limits: limits, rateLimits: rateLimits, breakers: breakers,
      persistence: persistence, factory: backend, storeLabel: storeLabel)
    let logger = Logger(label: "bank") { _ in SwiftLogNoOpLogHandler() }
    bank.dispatcher.instrument(logger: logger, metrics: metrics)
    return metrics
  }

  private func labels(
    _ action: String, _ outcome: String, store: String = "account"
  ) -> [(String, String)] {
    [("action", action), ("store", store), ("outcome", outcome)]
  }

  private func count(_ action: String, _ outcome: String) -> Int64? {
    try? backend.expectCounter("dispatchstore.runs", labels(action, outcome)).totalValue
  }

  private func gauge(_ name: String, _ labels: [(String, String)] = []) -> Double? {
    try? backend.expectMeter("dispatchstore.\(name)", labels).lastValue
  }

  @Test(arguments: Way.allCases)
  func runsAreCountedAndTimedByActionStoreAndOutcome(way: Way) async throws {
    instrument()
    for amount in 1...3 { await way.run(Deposit(amount: amount), by: bank.dispatcher) }
    await way.run(Withdraw(amount: 900), by: bank.dispatcher)
    #expect(count("Deposit", "finished") == 3)
    #expect(count("Withdraw", "failed") == 1)
    for name in ["duration", "queued"] {
      let timer = try backend.expectTimer(
        "dispatchstore.run.\(name)", labels("Deposit", "finished"))
      #expect(timer.values.count == 3)
      #expect(timer.values.allSatisfy { $0 >= 0 })
    }
  }

  /// A backend that counts the counters of runs that it makes.
  private final class CountingMetrics: MetricsFactory {
    let made = Atomic(0)
    private let backend = TestMetrics()

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
      if label == "dispatchstore.runs" { made.add(1, ordering: .relaxed) }
      return backend.makeCounter(label: label, dimensions: dimensions)
    }

    func makeRecorder(
      label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
      backend.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
      backend.makeTimer(label: label, dimensions: dimensions)
    }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
  }

  @Test func storesOfOneLabelShareOneSeries() async {
    let backend = CountingMetrics()
    bank.dispatcher.register(
      middleware: DispatchMetrics(of: bank.dispatcher, factory: backend) { _ in "customer" })
    for number in 1...1_000 {
      let store = bank.dispatcher.register(
        store: Store(identifier: "customer \(number)", model: 0) {
          On(Wait.self) { count, _ in count += 1 }
        })
      await store.send(Wait())
    }
    #expect(backend.made.load(ordering: .relaxed) == 1)
  }

  @Test func vetoesCancellationsAndAttemptsAreCounted() async {
    instrument()
    bank.dispatcher.register(.before(Deposit.self) { _, _ in .veto(reason: "closed") })
    await bank.dispatcher.send(Deposit(amount: 1))
    await bank.dispatcher.send(Withdraw(amount: 900), options: .retry(attempts: 2, backoff: .none))
    let handle = bank.dispatcher.dispatch(Wait())
    await bank.waitUntilBegun()
    handle.cancel()
    await bank.dispatcher.drain()
    #expect(count("Deposit", "vetoed") == 1)
    #expect(count("Withdraw", "failed") == 2)
    #expect(count("Wait", "cancelled") == 1)
  }

  @Test func anAnswerIsNotCountedAsAFailure() async {
    instrument()
    await bank.dispatcher.send(Buy())
    #expect(count("Buy", "answered") == 1)
    #expect(count("Buy", "failed") == nil)
  }

  @Test func aDispatchThatTheLibraryEndsIsCountedByCode() async {
    instrument()
    bank.dispatcher.queue.isSuspended = true
    await bank.dispatcher.dispatch(Deposit(amount: 1), options: .timeout(.milliseconds(1))).ended()
    bank.dispatcher.queue.isSuspended = false
    await bank.dispatcher.drain()
    let counter = try? backend.expectCounter("dispatchstore.errors", [("code", "timedOut")])
    #expect(counter?.totalValue == 1)
  }

  @Test(arguments: Way.allCases)
  func aRunIsInFlightUntilItHasEnded(way: Way) async {
    let metrics = instrument()
    let bank = bank
    if way != .sync {
      async let waiting = way.run(Wait(), by: bank.dispatcher)
      await bank.waitUntilBegun()
      metrics.recordGauges()
      #expect(gauge("runs.in_flight") == 1)
      bank.end()
      _ = await waiting
    }
    await way.run(Transfer(amount: 1), by: bank.dispatcher)
    await way.run(Withdraw(amount: 900), by: bank.dispatcher)
    metrics.recordGauges()
    #expect(gauge("runs.in_flight") == 0)
  }

  @Test func aLimitsFiguresAreRecordedAndEachRejectionIsCountedOnce() async {
    let limit = DispatchLimit(1, overflow: .reject)
    let metrics = instrument(limits: ["requests": limit])
    let handle = bank.dispatcher.dispatch(Wait(), options: .limited(by: limit))
    await bank.waitUntilBegun()
    for _ in 1...2 {
      await bank.dispatcher.send(Deposit(amount: 1), options: .limited(by: limit))
      metrics.recordGauges()
    }
    let labels = [("limit", "requests")]
    #expect(gauge("limit.in_flight", labels) == 1)
    #expect(gauge("limit.waiting", labels) == 0)
    #expect(gauge("limit.bound", labels) == 1)
    let rejected = try? backend.expectCounter("dispatchstore.limit.rejected", labels)
    #expect(rejected?.totalValue == 2)
    bank.end()
    await handle.ended()
  }

  private func counter(_ name: String, _ labels: [(String, String)]) -> Int64? {
    try? backend.expectCounter("dispatchstore.\(name)", labels).totalValue
  }

  @Test func aRateLimitsFiguresAreRecordedAndEachRejectionIsCountedOnce() async {
    let limit = RateLimit(1, per: .seconds(60), overflow: .reject)
    let metrics = instrument(rateLimits: ["mails": limit])
    for _ in 1...3 {
      await bank.dispatcher.send(Deposit(amount: 1), options: .rateLimited(by: limit, key: "ann"))
      metrics.recordGauges()
    }
    let labels = [("limit", "mails")]
    #expect(gauge("rate_limit.keys", labels) == 1)
    #expect(gauge("rate_limit.waiting", labels) == 0)
    #expect(counter("rate_limit.admitted", labels) == 1)
    #expect(counter("rate_limit.rejected", labels) == 2)
  }

  @Test func aBreakersStateIsRecordedAndEachRefusalIsCountedOnce() async {
    let clock = VirtualClock()
    let bank = Bank(clock: clock)
    let breaker = CircuitBreaker(failures: 1, pause: .seconds(30))
    let metrics = DispatchMetrics(
      of: bank.dispatcher, breakers: ["bank": breaker], factory: backend)
    let labels = [("breaker", "bank")]
    let guarded = DispatchOptions.guarded(by: breaker)
    metrics.recordGauges()
    #expect(gauge("breaker.state", labels) == 0)
    await bank.dispatcher.send(Withdraw(amount: 900), options: guarded)
    for _ in 1...2 {
      await bank.dispatcher.send(Deposit(amount: 1), options: guarded)
      metrics.recordGauges()
    }
    #expect(gauge("breaker.state", labels) == 2)
    #expect(counter("breaker.admitted", labels) == 1)
    #expect(counter("breaker.rejected", labels) == 2)
    #expect(counter("breaker.openings", labels) == 1)
    clock.advance(by: .seconds(30))
    let trial = bank.dispatcher.dispatch(Wait(), options: guarded)
    await bank.waitUntilBegun()
    metrics.recordGauges()
    #expect(gauge("breaker.state", labels) == 1)
    bank.end()
    await trial.ended()
  }

  @Test func theLagOfPersistenceIsRecorded() async throws {
    let database = MemoryDatabase()
    let persistence = try await database.open(for: bank.dispatcher)
    let metrics = instrument(persistence: persistence)
    let saved = try await bank.dispatcher.register(
      store: Store(identifier: "saved", model: 0) {
        On(Saved.self) { count, _ in count += 1 }
      }, persisted: .model)
    database.hold()
    let handle = saved.dispatch(Saved())
    for await change in saved.stream(.model, initial: true) where change.value == 1 { break }
    metrics.recordGauges()
    #expect(gauge("persistence.lag") == 1)
    database.release()
    await handle.ended()
    metrics.recordGauges()
    #expect(gauge("persistence.lag") == 0)
    #expect(gauge("persistence.failed") == 0)
    await bank.dispatcher.drain()
    try await persistence.close()
  }

  private struct Saved: ActionType {}

  @Test func storesMayShareALabel() async {
    instrument { _ in "any" }
    await bank.dispatcher.send(Deposit(amount: 1))
    let labels = labels("Deposit", "finished", store: "any")
    #expect((try? backend.expectCounter("dispatchstore.runs", labels))?.totalValue == 1)
  }

  @Test func warningsAreCountedByKind() async {
    struct Unknown: ActionType {}
    instrument()
    await bank.dispatcher.send(Unknown())
    let counter = try? backend.expectCounter(
      "dispatchstore.warnings", [("kind", "noResponder")])
    #expect(counter?.totalValue == 1)
  }
}
