import DispatchStore
import Testing

@Suite(.timeLimit(.minutes(10)))
struct WaitForFailureTests {
  private let dispatcher = Dispatcher()
  private let steps = Recorder<String>()

  /// Why the store that is waited for does not finish.
  enum Cause: CaseIterable {
    case failure, veto, cancellation, throwingHook
  }

  private func addBroken(_ name: String, _ cause: Cause, style: OperationStyle = .returning) {
    switch cause {
    case .failure:
      dispatcher.addProbe(name, style: style, fails: true, to: steps)
    case .cancellation:
      let reducer = ClosureReducer<Int, Ping> { action, store in
        ActionOperation(action: action, store: store) { _, _ in throw CancellationError() }
      }
      dispatcher.register(store: ProbeStore(identifier: name, model: 0, reducer: reducer))
    case .veto, .throwingHook:
      dispatcher.addProbe(name, to: steps)
      dispatcher.register(
        middleware: RecordingMiddleware(will: { _, _, store in
          guard store.identifier == name else { return .pass }
          if cause == .throwingHook { throw PingFailure() }
          return .veto(reason: "not now")
        }))
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Cause.allCases)
  func thoseThatWaitForAStoreThatDoesNotFinishFail(mode: Dispatcher.Mode, cause: Cause) async {
    addBroken("a", cause)
    dispatcher.addProbe("b", waitFor: ["a"], to: steps)
    dispatcher.addProbe("c", waitFor: ["b"], to: steps)
    dispatcher.addProbe("free", to: steps)
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result.stores.map(\.storeIdentifier) == ["a", "b", "c", "free"])
    #expect(result["a"].isFinished == false)
    for (waiter, awaited) in [("b", "a"), ("c", "b")] {
      let error = result[waiter].error as? DispatchError
      #expect(error?.code == .dependencyFailed)
      #expect(error?.storeIdentifiers == [waiter, awaited])
      #expect(error?.cause != nil)
      #expect(error?.message.contains("\"\(waiter)\"") == true)
      #expect(error?.message.contains("\"\(awaited)\"") == true)
    }
    #expect(result["free"].isFinished == true)
    #expect(!steps.all.contains("+b"))
    #expect(!steps.all.contains("+c"))
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Cause.allCases)
  func thoseThatRunRegardlessRun(mode: Dispatcher.Mode, cause: Cause) async {
    addBroken("a", cause)
    dispatcher.addProbe("b", waitFor: WaitFor(["a"], runsRegardless: true), to: steps)
    dispatcher.addProbe("c", waitFor: ["b"], to: steps)
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result["a"].isFinished == false)
    #expect(result["b"].isFinished == true)
    #expect(result["c"].isFinished == true)
    #expect(steps.all.suffix(4) == ["+b", "-b", "+c", "-c"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode, OperationStyle.allCases)
  func aFailureIsWaitedForToItsEnd(mode: Dispatcher.Mode, style: OperationStyle) async {
    addBroken("a", .failure, style: style)
    dispatcher.addProbe(
      "b", waitFor: WaitFor(["a"], runsRegardless: true), style: style, to: steps)
    dispatcher.addProbe("c", waitFor: ["a"], style: style, to: steps)
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result["a"].error is PingFailure)
    #expect(result["c"].errorCode == .dependencyFailed)
    #expect(steps.all == ["+a", "-a", "+b", "-b"])
    #expect(result.error is PingFailure)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func didDispatchRunsForStoresThatWereNotStarted(mode: Dispatcher.Mode) async {
    addBroken("a", .failure)
    dispatcher.addProbe("b", waitFor: ["a"], to: steps)
    let hooks = Recorder<String>()
    let codes = Recorder<DispatchError.Code?>()
    dispatcher.register(
      middleware: RecordingMiddleware(
        to: hooks, did: { transaction, _, _ in codes.record(transaction.outcome.errorCode) }))
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(hooks.all == ["m will a", "m will b", "m did a", "m did b"])
    #expect(codes.all == [nil, .dependencyFailed])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theNextDispatchIsNotTouchedByAFailure(mode: Dispatcher.Mode) async {
    let reducer = ClosureReducer<Int, Ping> { action, store in
      ActionOperation(action: action, store: store) { action, _ in
        if action.name == "bad" { throw PingFailure() }
      }
    }
    dispatcher.register(store: ProbeStore(identifier: "a", model: 0, reducer: reducer))
    dispatcher.addProbe("b", waitFor: ["a"], to: steps)
    let bad = dispatcher.dispatch(action: Ping(name: "bad"), mode: mode)
    let good = dispatcher.dispatch(action: Ping(name: "good"), mode: mode)
    #expect(await bad.result["b"].errorCode == .dependencyFailed)
    #expect(await good.result.isSuccess)
    #expect(steps.all == ["+b", "-b"])
  }
}
