import DispatchStore
import Foundation
import Testing

@Suite("The completion runs exactly once", .timeLimit(.minutes(10)))
struct CompletionTests {
  let dispatcher = Dispatcher()
  let completions = Recorder<DispatchResult>()

  /// Dispatches, and returns the result with which the completion ran, once.
  private func complete(
    _ action: some ActionType, _ mode: Dispatcher.Mode, to storeIdentifier: String? = nil,
    cancels: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
  ) async -> DispatchResult {
    let (dispatcher, completions) = (dispatcher, completions)
    let handle = await onOwnThread {
      dispatcher.dispatch(action, to: storeIdentifier, mode: mode) {
        completions.record($0)
      }
    }
    if cancels { handle.cancel() }
    let result = await handle.result
    #expect(handle.hasEnded, sourceLocation: sourceLocation)
    handle.cancel()
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(completions.count == 1, sourceLocation: sourceLocation)
    #expect(completions.all.first?.dispatchID == result.dispatchID)
    return completions.all[0]
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func whereAReducerDispatchesWhileItRefinesTheOrder(_ mode: Dispatcher.Mode) async {
    let store = dispatcher.register(store: Store(model: 0, reducer: DispatchingRefiner(dispatcher)))
    let result = await complete(Refined.outer, mode)
    #expect(result.isSuccess)
    #expect(store.model == 3)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, BlockKind.allCases)
  func whenTheOperationEnded(_ mode: Dispatcher.Mode, _ kind: BlockKind) async {
    dispatcher.addStage()
    let result = await complete(kind.script(), mode)
    #expect(result.isSuccess)
    #expect(result.hasResponders)
    #expect(result.stores.map(\.storeIdentifier) == ["stage"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func whenNoStoreResponds(_ mode: Dispatcher.Mode) async {
    let result = await complete(Script.adds("lost"), mode)
    #expect(result.isSuccess)
    #expect(!result.hasResponders)
    #expect(result.description.hasSuffix("no store responded"))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func onceForAllStoresTogether(_ mode: Dispatcher.Mode) async {
    for index in 0..<5 { dispatcher.addStage("\(index)") }
    let result = await complete(Script.adds("all"), mode)
    #expect(result.stores.map(\.storeIdentifier) == ["0", "1", "2", "3", "4"])
    #expect(result.stores.map(\.outcome.isFinished) == Array(repeating: true, count: 5))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func whenAMiddlewareVetoed(_ mode: Dispatcher.Mode) async {
    let stage = dispatcher.addStage()
    dispatcher.register(middleware: RecordingMiddleware(will: { _, _, _ in .veto(reason: "no") }))
    let result = await complete(Script.adds("vetoed"), mode)
    #expect(result["stage"].veto?.reason == "no")
    #expect(result.errorCode == .vetoed)
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func whenTheOperationFailed(_ mode: Dispatcher.Mode) async {
    dispatcher.addStage()
    let result = await complete(Script.runs { _ in throw StageFright(place: 7) }, mode)
    #expect(result.error as? StageFright == StageFright(place: 7))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func whenThePlanFailed(_ mode: Dispatcher.Mode) async {
    let stage = dispatcher.addStage("stage", waitFor: ["nobody"])
    let result = await complete(Script.adds("lost"), mode)
    #expect(result.errorCode == .unknownStore)
    #expect(result.stores.isEmpty)
    #expect(stage.model.isEmpty)
    let cycled = dispatcher.addStage("a", waitFor: ["a"])
    #expect(
      await dispatcher.dispatch(storeIdentifier: "a", action: Script.adds("lost"), mode: mode)
        .result.errorCode == .waitForCycle)
    #expect(cycled.model.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func whenItWasCancelledWhileItWaited(_ mode: Dispatcher.Mode) async {
    let stage = dispatcher.addStage()
    let released = Latch()
    let slow = dispatcher.dispatch(
      action: Script.suspends { _ in await released.opened() }, mode: .serial(lane: "elsewhere"))
    let (dispatcher, completions) = (dispatcher, completions)
    let handle = dispatcher.dispatch(Script.adds("lost"), mode: mode, options: .after(slow)) {
      completions.record($0)
    }
    handle.cancel()
    handle.cancel()
    #expect(await handle.result["stage"].isCancelled == true)
    released.open()
    _ = await slow.result
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(completions.count == 1)
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func whenAWeakStoreIsGone(_ mode: Dispatcher.Mode) async {
    do {
      let stage = Stage(identifier: "weak", model: [], reducer: ScriptReducer())
      dispatcher.register(store: stage, ownership: .weak)
    }
    let result = await complete(Script.adds("lost"), mode)
    #expect(result.stores.allSatisfy { $0.outcome.isCancelled })
  }

  @Test func staticFormsAndStoresOwnFormsRunItToo() async {
    let stage = dispatcher.addStage()
    let ran = Recorder<String>()
    Dispatcher.dispatch(action: Ping(name: "static"), mode: .sync) { ran.record("static") }
    Dispatcher.dispatch(actions: [], mode: .serial) { ran.record("static list") }
    stage.dispatch(.adds("one"), mode: .sync) { _ in ran.record("store") }
    #expect(Set(await ran.first(3)) == ["static", "static list", "store"])
    #expect(stage.model == ["one"])
  }
}

private enum Refined: ActionType { case outer, inner }

/// Waits, on the dispatching thread, for what it dispatches there.
private final class DispatchingRefiner: Reducer<Int, Refined> {
  private let dispatcher: Dispatcher

  init(_ dispatcher: Dispatcher) {
    self.dispatcher = dispatcher
  }

  override func waitFor(for action: Refined, in store: Store<Int, Refined>, declared: WaitFor)
    -> WaitFor
  {
    if case .outer = action {
      dispatcher.dispatch(actions: [Refined.inner, Refined.inner], mode: .sync)
    }
    return declared
  }

  override func reduce(into model: inout Int, action: Refined) {
    model += 1
  }
}
