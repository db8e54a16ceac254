import DispatchStore
import Testing

@Suite(.timeLimit(.minutes(10)))
struct MiddlewareVerdictTests {
  private let dispatcher = Dispatcher()
  private let steps = Recorder<String>()

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aReplacementIsWhatLaterMiddlewaresTheStoreDidDispatchAndObserversGet(
    mode: Dispatcher.Mode
  ) async {
    let steps = steps
    let store = dispatcher.register(store: .counter("s"))
    for (name, next) in [("1", 10), ("2", 100)] {
      dispatcher.register(
        middleware: RecordingMiddleware(
          will: { _, action, _ in
            steps.record("\(name) will \(action)")
            return .replace(with: CounterAction.add(next))
          },
          did: { _, action, _ in steps.record("\(name) did \(action)") }))
    }
    let token = store.observe(.model) { steps.record("observer \($0.action!)") }
    let result = await dispatcher.dispatch(action: CounterAction.add(1), mode: mode).result
    #expect(result.isSuccess)
    #expect(store.model.count == 100)
    #expect(
      steps.all == [
        "1 will add(1)", "2 will add(10)", "observer add(100)", "2 did add(100)", "1 did add(100)",
      ])
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aReplacementOfAnotherTypeFailsItsStoreAndNamesBothTypes(mode: Dispatcher.Mode) async {
    let store = dispatcher.register(store: .counter("s"))
    dispatcher.register(
      middleware: RecordingMiddleware("1", to: steps, will: { _, _, _ in .replace(with: Ping()) }))
    dispatcher.register(middleware: RecordingMiddleware("2", to: steps))
    let result = await dispatcher.dispatch(action: CounterAction.add(1), mode: mode).result
    #expect(result["s"].errorCode == .middlewareFailed)
    let message = (result.error as? DispatchError)?.message ?? ""
    #expect(message.contains("RecordingMiddleware"))
    #expect(message.contains("CounterAction") && message.contains("Ping"))
    #expect(store.version == 0)
    #expect(steps.all == ["1 will s", "2 will s", "2 did s", "1 did s"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aVetoEndsItsStoreAloneAndNamesTheMiddleware(mode: Dispatcher.Mode) async {
    let a = dispatcher.register(store: .counter("a"))
    let b = dispatcher.register(store: .counter("b"))
    let vetoing = RecordingMiddleware(
      "2", to: steps,
      will: { _, _, store in store.identifier == "a" ? .veto(reason: "closed") : .pass })
    let outcomes = Recorder<StoreOutcome?>()
    dispatcher.register(
      middleware: RecordingMiddleware(
        "1", to: steps,
        did: { transaction, _, store in
          if store.identifier == "a" { outcomes.record(transaction.outcome) }
        }))
    dispatcher.register(middleware: vetoing)
    dispatcher.register(middleware: RecordingMiddleware("3", to: steps))
    let completions = Recorder<DispatchResult>()
    let handle = dispatcher.dispatch(CounterAction.add(1), mode: mode) {
      completions.record($0)
    }
    let result = await handle.result
    #expect(result["a"].veto?.middleware === vetoing)
    #expect(result["a"].veto?.reason == "closed")
    #expect(result["b"].isFinished == true)
    #expect(result.errorCode == .vetoed)
    #expect((result.error as? DispatchError)?.message.contains("closed") == true)
    #expect([a.version, b.version] == [0, 1])
    #expect(completions.count == 1)
    // Later middlewares are not called for that store; those before get `didDispatch`.
    let ofA = steps.all.filter { $0.hasSuffix(" a") }
    #expect(ofA == ["1 will a", "2 will a", "2 did a", "1 did a"])
    let ofB = steps.all.filter { $0.hasSuffix(" b") }
    #expect(ofB == ["1 will b", "2 will b", "3 will b", "3 did b", "2 did b", "1 did b"])
    #expect(outcomes.all.first??.veto?.middleware === vetoing)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aWillDispatchThatThrowsFailsItsStoreAndTheOtherHooksRun(mode: Dispatcher.Mode) async {
    let store = dispatcher.register(store: .counter("s"))
    dispatcher.register(middleware: RecordingMiddleware("1", to: steps))
    dispatcher.register(
      middleware: RecordingMiddleware("2", to: steps, will: { _, _, _ in throw PingFailure() }))
    dispatcher.register(middleware: RecordingMiddleware("3", to: steps))
    let result = await dispatcher.dispatch(action: CounterAction.add(1), mode: mode).result
    let error = result["s"].error as? DispatchError
    #expect(error?.code == .middlewareFailed)
    #expect(error?.cause is PingFailure)
    #expect(error?.message.contains("RecordingMiddleware") == true)
    #expect(store.version == 0)
    #expect(
      steps.all == ["1 will s", "2 will s", "3 will s", "3 did s", "2 did s", "1 did s"])
    // The next dispatch is not affected.
    #expect(dispatcher.unregister(middleware: dispatcher.middlewares[1]))
    #expect(await dispatcher.dispatch(action: CounterAction.add(1), mode: mode).result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aDidDispatchThatThrowsIsReportedAndTheOtherHooksRun(mode: Dispatcher.Mode) async {
    dispatcher.register(store: .counter("s"))
    let warnings = Recorder<DispatchWarning>()
    dispatcher.onWarning { warnings.record($0) }
    dispatcher.register(middleware: RecordingMiddleware("1", to: steps))
    dispatcher.register(
      middleware: RecordingMiddleware("2", to: steps, did: { _, _, _ in throw PingFailure() }))
    dispatcher.register(middleware: RecordingMiddleware("3", to: steps))
    let result = await dispatcher.dispatch(action: CounterAction.add(1), mode: mode).result
    #expect(result.isSuccess)
    #expect(steps.all.suffix(3) == ["3 did s", "2 did s", "1 did s"])
    #expect(warnings.all.map(\.kind) == [.middlewareFailed])
    #expect(warnings.all.first?.storeIdentifier == "s")
    #expect(warnings.all.first?.message.contains("RecordingMiddleware") == true)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func didDispatchGetsTheOutcomeTheActionAndTheDuration(mode: Dispatcher.Mode) async {
    let wills = Recorder<DispatchInfo>()
    let runs = Recorder<StoreRunInfo>()
    dispatcher.register(store: .counter("s"))
    dispatcher.register(
      middleware: RecordingMiddleware(
        will: { transaction, _, _ in
          wills.record(transaction)
          return .pass
        }, did: { run, _, _ in runs.record(run) }))
    let handles = [
      dispatcher.dispatch(action: CounterAction.add(1), mode: mode),
      dispatcher.dispatch(action: CounterAction.fail(2), mode: mode),
    ]
    for handle in handles { _ = await handle.result }
    #expect(wills.all.map(\.id) == handles.map(\.dispatchID))
    #expect(wills.all.allSatisfy { $0.duration == .zero && $0.timeQueued == .zero })
    let dids = handles.compactMap { handle in
      runs.all.first { $0.dispatch.id == handle.dispatchID }
    }
    #expect(dids.count == 2)
    #expect(dids.first?.outcome.isFinished == true)
    #expect(dids.last?.outcome.error as? CounterFailure == CounterFailure(amount: 2))
    #expect(dids.map { "\($0.action)" } == ["add(1)", "fail(2)"])
    #expect(dids.allSatisfy { $0.duration > .zero })
    #expect(dids.allSatisfy { $0.dispatch.mode == mode && $0.dispatch.dispatcher === dispatcher })
    #expect(dids.allSatisfy { "\($0.dispatch.callSite)".contains("MiddlewareVerdictTests.swift:") })
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func didDispatchRunsAfterACancellation(mode: Dispatcher.Mode) async {
    let free = Latch()
    let held = dispatchElsewhere(until: free)
    let store = dispatcher.register(store: .counter("s"))
    let outcomes = Recorder<StoreOutcome?>()
    dispatcher.register(
      middleware: RecordingMiddleware(
        to: steps, did: { transaction, _, _ in outcomes.record(transaction.outcome) }))
    let handle = dispatcher.dispatch(
      action: CounterAction.add(1), mode: mode, options: .after(held))
    handle.cancel()
    #expect(await handle.result["s"].isCancelled == true)
    #expect(steps.all == ["m will s", "m did s"])
    #expect(outcomes.all.first??.isCancelled == true)
    #expect(store.version == 0)
    free.open()
    _ = await held.result
  }
}
