import DispatchStore
import Testing

@Suite(.timeLimit(.minutes(10)))
struct WaitForErrorTests {
  private let dispatcher = Dispatcher()
  private let steps = Recorder<String>()

  /// Dispatches an action for which there is no order, and expects that no hook and no store is called.
  private func expectError(
    _ code: DispatchError.Code, naming path: [String], in mode: Dispatcher.Mode,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let hooks = Recorder<String>()
    let completions = Recorder<DispatchResult>()
    dispatcher.register(middleware: RecordingMiddleware(to: hooks))
    let handle = dispatcher.dispatch(Ping(), mode: mode) { completions.record($0) }
    let result = await handle.result
    let error = result.error as? DispatchError
    #expect(error?.code == code, sourceLocation: sourceLocation)
    #expect(error?.storeIdentifiers == path, sourceLocation: sourceLocation)
    let named = path.map { "\"\($0)\"" }.joined(separator: " → ")
    #expect(error?.message.contains(named) == true, sourceLocation: sourceLocation)
    #expect(result.stores.isEmpty, sourceLocation: sourceLocation)
    #expect(steps.all.isEmpty, "Nothing of it runs.", sourceLocation: sourceLocation)
    #expect(hooks.all.isEmpty, "No hook is called.", sourceLocation: sourceLocation)
    #expect(completions.count == 1, sourceLocation: sourceLocation)
    #expect(completions.all.first?.errorCode == code)
  }

  private static let cycles = [["a", "a"], ["a", "b", "a"], (0...12).map { "s\($0 % 12)" }]

  @Test(arguments: Dispatcher.Mode.everyMode, cycles)
  func aCycleEndsTheDispatchAndIsNamedAsAWhole(mode: Dispatcher.Mode, cycle: [String]) async {
    dispatcher.addProbe("free", to: steps)
    for (waiting, awaited) in zip(cycle, cycle.dropFirst()) {
      dispatcher.addProbe(waiting, waitFor: ["free", awaited], to: steps)
    }
    await expectError(.waitForCycle, naming: cycle, in: mode)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aCycleMadeByAReducerEndsTheDispatch(mode: Dispatcher.Mode) async {
    dispatcher.addProbe("a", to: steps) { _, _ in ["b"] }
    dispatcher.addProbe("b", waitFor: ["a"], to: steps)
    await expectError(.waitForCycle, naming: ["a", "b", "a"], in: mode)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anIdentifierThatWasNeverRegisteredEndsTheDispatch(mode: Dispatcher.Mode) async {
    dispatcher.addProbe("a", waitFor: ["never"], to: steps)
    dispatcher.addProbe("free", to: steps)
    await expectError(.unknownStore, naming: ["a", "never"], in: mode)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aCycleAmongStoresThatDoNotTakePartDoesNotMatter(mode: Dispatcher.Mode) async {
    dispatcher.addProbe("a", waitFor: ["b"], to: steps)
    dispatcher.addProbe("b", waitFor: ["a"], to: steps)
    dispatcher.register(store: CounterStore.counter("counter"), waitFor: ["a"])
    let result = await dispatcher.dispatch(action: CounterAction.add(1), mode: mode).result
    #expect(result["counter"].isFinished == true)
    let alone = await dispatcher.dispatch(storeIdentifier: "a", action: Ping(), mode: mode).result
    #expect(alone.isSuccess)
    #expect(steps.all == ["+a", "-a"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theDispatchAfterAnErrorRuns(mode: Dispatcher.Mode) async {
    dispatcher.addProbe("a", to: steps) { action, _ in action.name == "bad" ? ["a"] : [] }
    let bad = dispatcher.dispatch(action: Ping(name: "bad"), mode: mode)
    let good = dispatcher.dispatch(action: Ping(name: "good"), mode: mode)
    #expect(await bad.result.errorCode == .waitForCycle)
    #expect(await good.result.isSuccess)
    #expect(steps.all == ["+a", "-a"])
  }
}
