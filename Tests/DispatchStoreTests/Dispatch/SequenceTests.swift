import DispatchStore
import Foundation
import Testing

/// `dispatch(actions:)`.
@Suite("Sequences", .timeLimit(.minutes(10)))
struct SequenceTests {
  var (dispatcher, stage) = makeStage()
  let log = Recorder<String>()

  init() {
    dispatcher.register(store: .counter("counter"))
  }

  private func records(_ name: String) -> Script {
    .runs(name) { [log] _ in log.record(name) }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func runTheirActionsInOrder(_ mode: Dispatcher.Mode) async {
    let log = log
    let actions: [AnyAction] = (0..<32).map { index in
      BlockKind.allCases[index % 4].script { log.record("\(index)") }
    }
    let handle = await onOwnThread { [dispatcher] in
      dispatcher.dispatch(actions: actions, mode: mode)
    }
    #expect(await handle.result.isSuccess)
    #expect(log.all == (0..<32).map { "\($0)" })
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func mayMixActionTypesAndReportEachStep(_ mode: Dispatcher.Mode) async {
    let completions = Recorder<Void>()
    let actions: [AnyAction] = [Script.adds("a"), CounterAction.add(2), Ping(), Script.adds("b")]
    let handle = dispatcher.dispatch(actions: actions, mode: mode) { completions.record(()) }
    let result = await handle.result
    #expect(result.isSuccess)
    #expect(result.skippedActionCount == 0)
    let responders = result.steps.map { $0.stores.map(\.storeIdentifier) }
    #expect(responders == [["stage"], ["counter"], [], ["stage"]])
    #expect(result.stores.map(\.storeIdentifier) == ["stage", "counter", "stage"])
    #expect(Set(result.steps.map(\.dispatchID)).count == 4)
    #expect(result.dispatchID == handle.dispatchID)
    #expect(completions.count == 1)
    #expect(stage.model == ["a", "b"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func stopAtTheFirstFailure(_ mode: Dispatcher.Mode) async {
    let failures: [Script] = [
      .runs { _ in throw StageFright() }, .runs { _ in throw CancellationError() },
      .suspends { _ in throw StageFright() },
    ]
    for failure in failures {
      let actions = [Script.adds("before"), failure, .adds("after"), .adds("after")]
      let result = await dispatcher.dispatch(actions: actions, mode: mode).result
      #expect(!result.isSuccess)
      #expect(result.steps.map(\.isSuccess) == [true, false])
      #expect(result.skippedActionCount == 2)
      #expect(result.error is StageFright || result.error is CancellationError)
    }
    #expect(stage.model == ["before", "before", "before"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func stopAtAVeto(_ mode: Dispatcher.Mode) async {
    dispatcher.register(middleware: RecordingMiddleware.vetoing("vetoed"))
    let actions = [Script.adds("before"), .adds("vetoed"), .adds("after")]
    let result = await dispatcher.dispatch(actions: actions, mode: mode).result
    #expect(result.errorCode == .vetoed)
    #expect(result.skippedActionCount == 1)
    #expect(stage.model == ["before"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func continueAfterAFailureWhenTheOptionsSaySo(_ mode: Dispatcher.Mode) async {
    let actions = [Script.adds("before"), .runs { _ in throw StageFright() }, .adds("after")]
    let result = await dispatcher.dispatch(
      actions: actions, mode: mode, options: .continuingOnFailure
    ).result
    #expect(result.steps.map(\.isSuccess) == [true, false, true])
    #expect(result.error is StageFright)
    #expect(result.skippedActionCount == 0)
    #expect(stage.model == ["before", "after"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func holdTheirLaneFromFirstToLast(_ mode: Dispatcher.Mode) async {
    let queued = Latch()
    let first = Script.suspends { [log] _ in
      await queued.opened()
      log.record("1")
    }
    let actions = [first] + (2...9).map { records("\($0)") }
    dispatcher.dispatch(actions: actions, mode: mode) { [log] in log.record("completion") }
    let next = dispatcher.dispatch(action: records("next"), mode: mode)
    queued.open()
    _ = await next.result
    #expect(log.all == (1...9).map { "\($0)" } + ["completion", "next"])
  }

  @Test(arguments: [Dispatcher.Mode.async, .sync])
  func mayBeInterleavedInTheOtherModes(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (dispatcher, log)
    let (began, released) = (Latch(), Latch())
    let first = Script.suspends { _ in
      began.open()
      await released.opened()
      log.record("first")
    }
    let (actions, ended) = ([first, records("last")], Latch())
    Thread { dispatcher.dispatch(actions: actions, mode: mode) { ended.open() } }.start()
    await began.opened()
    let between = records("between")
    _ = await onOwnThread { dispatcher.dispatch(action: between, mode: mode) }.result
    released.open()
    await ended.opened()
    #expect(log.all == ["between", "first", "last"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anEmptyListSucceedsAtOnceAlsoWhenTheLaneIsHeld(_ mode: Dispatcher.Mode) async {
    let (released, holder) = (Latch(), mode == .sync ? Dispatcher.Mode.serial : mode)
    let holding = dispatcher.dispatch(
      action: Script.suspends { _ in await released.opened() }, mode: holder)
    let completions = Recorder<Void>()
    let handle = dispatcher.dispatch(actions: [], mode: mode) { completions.record(()) }
    let result = await handle.result
    #expect(result.isSuccess)
    #expect(result.steps.isEmpty && result.stores.isEmpty && result.skippedActionCount == 0)
    #expect(completions.count == 1)
    #expect(!holding.hasEnded)
    released.open()
    _ = await holding.result
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func cancelledWhileTheyRunSkipWhatHasNotBegun(_ mode: Dispatcher.Mode) async {
    let (began, released) = (Latch(), Latch())
    let first = Script.suspends { store in
      began.open()
      await released.opened()
      store.updateModel { $0.append("first") }
    }
    let handle = dispatcher.dispatch(actions: [first, Script.adds("second")], mode: mode)
    await began.opened()
    handle.cancel()
    released.open()
    let result = await handle.result
    #expect(result.steps.map(\.isSuccess) == [true])
    #expect(result.skippedActionCount == 1)
    #expect(result.error is CancellationError)
    #expect(stage.model == ["first"])
    #expect(await dispatcher.dispatch(action: Script.adds("next"), mode: mode).result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func cancelledWhileTheyWaitRunNothing(_ mode: Dispatcher.Mode) async {
    let released = Latch()
    let holder = dispatcher.dispatch(
      action: Script.suspends { _ in await released.opened() }, mode: mode)
    let handle = dispatcher.dispatch(
      actions: [Script.adds("first"), Script.adds("second")], mode: mode)
    handle.cancel()
    let result = await handle.result
    #expect(result.error is CancellationError)
    #expect(result.skippedActionCount == 2)
    #expect(!holder.hasEnded)
    released.open()
    _ = await holder.result
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func tenThousandActionsRunInABoundedStack(_ mode: Dispatcher.Mode) async {
    let total = Load.count(10_000)
    let actions = Array(repeating: CounterAction.add(1), count: total)
    let result = await dispatcher.dispatch(actions: actions, mode: mode).result
    #expect(result.isSuccess)
    #expect(result.steps.count == total)
    let counter = dispatcher.store(with: "counter") as? CounterStore
    #expect(counter?.model.count == total)
  }

  @Test(arguments: Dispatcher.Mode.offMainModes)
  func endWhereTheyAreCancelledDuringAnActionAndTheQueueIsSuspended(
    _ mode: Dispatcher.Mode
  ) async {
    let (began, goOn) = (Latch(), Latch())
    let first = Script.holds(opening: began, until: goOn)
    let handle = dispatcher.dispatch(actions: [first, records("second")], mode: mode)
    await began.opened()
    dispatcher.queue.isSuspended = true
    handle.cancel()
    goOn.open()
    #expect(await handle.result.error is CancellationError)
    dispatcher.queue.isSuspended = false
    #expect(log.all.isEmpty)
  }
}
