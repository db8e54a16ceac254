import DispatchStore
import DispatchStoreServer
import DispatchStoreTesting
import InMemoryTracing
import Testing
import Tracing

@Suite struct DispatchTracerTests {
  private let clock = VirtualClock()
  private let bank: Bank
  private let tracer = InMemoryTracer()

  init() {
    bank = Bank(clock: clock)
    bank.dispatcher.register(middleware: DispatchTracer(tracer))
  }

  private func span(_ name: String) throws -> FinishedInMemorySpan {
    try #require(tracer.finishedSpans.first { $0.operationName == name })
  }

  private func outcome(of span: FinishedInMemorySpan) -> SpanAttribute? {
    span.attributes.get("dispatch.outcome")
  }

  @Test(arguments: Way.allCases)
  func aDispatchHasASpanWithAChildForEachStore(way: Way) async throws {
    let request = tracer.startSpan("request")
    await InstrumentationContext.$current.withValue(request.context) {
      _ = await way.run(Deposit(amount: 1), by: bank.dispatcher)
    }
    let dispatch = try span("Deposit")
    #expect(dispatch.parentSpanID == request.spanID)
    #expect(dispatch.attributes.get("dispatch.lane") == "\(way.mode)".toSpanAttribute())
    #expect(outcome(of: dispatch) == "finished".toSpanAttribute())
    let store = try span("Deposit in account")
    #expect(store.parentSpanID == dispatch.spanID)
    #expect(store.startInstant.nanosecondsSinceEpoch <= store.endInstant.nanosecondsSinceEpoch)
    #expect(bank.seen["Deposit"] == dispatch.spanID)
    #expect(tracer.finishedSpans.count == 2)
  }

  @Test(arguments: Way.allCases)
  func childTasksAndNestedDispatchesBelongToTheSpan(way: Way) async throws {
    await way.run(Transfer(amount: 1), by: bank.dispatcher)
    let outer = try span("Transfer")
    #expect(bank.seen["Transfer"] == outer.spanID)
    #expect(bank.seen["child task"] == outer.spanID)
    #expect(try span("Deposit").parentSpanID == outer.spanID)
  }

  @Test(arguments: Way.allCases)
  func aHandlersErrorIsRecordedInBothSpans(way: Way) async throws {
    await way.run(Withdraw(amount: 900), by: bank.dispatcher)
    for name in ["Withdraw", "Withdraw in account"] {
      let span = try span(name)
      #expect(span.errors.first?.error is Overdrawn)
      #expect(span.status?.code == .error)
      #expect(outcome(of: span) == "failed".toSpanAttribute())
    }
  }

  @Test(arguments: Way.allCases)
  func aVetoIsNoErrorOfTheSpan(way: Way) async throws {
    bank.dispatcher.register(.before(Deposit.self) { _, _ in .veto(reason: "closed") })
    await way.run(Deposit(amount: 1), by: bank.dispatcher)
    for name in ["Deposit", "Deposit in account"] {
      #expect(try span(name).status == nil)
      #expect(outcome(of: try span(name)) == "vetoed".toSpanAttribute())
    }
  }

  @Test func anAnswerIsNoErrorOfTheSpan() async throws {
    await bank.dispatcher.send(Buy())
    for name in ["Buy", "Buy in account"] {
      #expect(try span(name).status == nil)
      #expect(outcome(of: try span(name)) == "answered".toSpanAttribute())
    }
  }

  @Test func aCancelledDispatchEndsItsSpan() async throws {
    let handle = bank.dispatcher.dispatch(Wait(), mode: .serial)
    await bank.waitUntilBegun()
    handle.cancel()
    await handle.ended()
    #expect(outcome(of: try span("Wait")) == "cancelled".toSpanAttribute())
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test func anEffectAndItsDispatchesBelongToTheSpan() async throws {
    let seen = bank.seen
    bank.dispatcher.register(
      effect: Effect(Withdraw.self) { _, context in
        seen.note("effect")
        await context.send(Deposit(amount: 1))
      })
    await bank.dispatcher.dispatch(Withdraw(amount: 1), mode: .serial).settled()
    let dispatch = try span("Withdraw")
    #expect(bank.seen["effect"] == dispatch.spanID)
    #expect(try span("Deposit").parentSpanID == dispatch.spanID)
  }

  @Test func eachAttemptOfARetryHasASpan() async throws {
    await bank.dispatcher.send(Withdraw(amount: 900), options: .retry(attempts: 3, backoff: .none))
    let names = tracer.finishedSpans.map(\.operationName)
    #expect(names.count { $0 == "Withdraw in account" } == 3)
    #expect(names.count { $0 == "Withdraw" } == 1)
  }

  @Test func aDelayedDispatchBelongsToItsCallersTrace() async throws {
    let request = tracer.startSpan("request")
    let handle = InstrumentationContext.$current.withValue(request.context) {
      bank.dispatcher.dispatch(Deposit(amount: 1), options: .delayed(by: .seconds(60)))
    }
    await clock.waitForSleepers(atLeast: 1)
    clock.advance(by: .seconds(60))
    await handle.ended()
    #expect(try span("Deposit").parentSpanID == request.spanID)
    #expect(bank.seen["Deposit"] == (try span("Deposit").spanID))
  }

  @Test func eachRunOfARepeatedActionHasASpan() async throws {
    let runs = AsyncStream.makeStream(of: Void.self)
    bank.dispatcher.every(.seconds(60), name: "interest", perform: Deposit(amount: 1)) { _ in
      runs.continuation.yield()
    }
    await clock.waitForSleepers(atLeast: 1)
    clock.advance(by: .seconds(60))
    for await _ in runs.stream { break }
    #expect(bank.seen["Deposit"] == (try span("Deposit").spanID))
    bank.dispatcher.cancel(named: "interest")
  }

  @Test func theActionsOfAListAreChildrenOfItsSpan() async throws {
    let actions: [any ActionType] = [Deposit(amount: 1), Withdraw(amount: 1)]
    await bank.dispatcher.dispatch(actions: actions).ended()
    let list = try span("Deposit and 1 more")
    #expect(try span("Deposit").parentSpanID == list.spanID)
    #expect(try span("Withdraw").parentSpanID == list.spanID)
  }

  @Test func aSendThatWaitsInABusyLaneBelongsToItsCallersTrace() async throws {
    let called = AsyncStream.makeStream(of: Void.self)
    bank.dispatcher.register(
      .before(Deposit.self) { _, _ in
        called.continuation.yield()
        return .pass
      })
    let holder = bank.dispatcher.dispatch(Wait(), mode: .serial(lane: 7))
    await bank.waitUntilBegun()
    let request = tracer.startSpan("request")
    let sent = InstrumentationContext.$current.withValue(request.context) {
      Task { [bank] in await bank.dispatcher.send(Deposit(amount: 1), mode: .serial(lane: 7)) }
    }
    for await _ in called.stream { break }
    bank.end()
    await holder.ended()
    _ = await sent.value
    let dispatch = try span("Deposit")
    #expect(dispatch.parentSpanID == request.spanID)
    #expect(bank.seen["Deposit"] == dispatch.spanID)
  }

  @Test func aDispatchThatALimitRefusesHasNoSpan() async {
    let limit = DispatchLimit(1)
    let handle = bank.dispatcher.dispatch(Wait(), options: .limited(by: limit))
    await bank.waitUntilBegun()
    await bank.dispatcher.send(Deposit(amount: 1), options: .limited(by: limit))
    bank.end()
    await handle.ended()
    #expect(tracer.finishedSpans.allSatisfy { $0.operationName.hasPrefix("Wait") })
  }
}
