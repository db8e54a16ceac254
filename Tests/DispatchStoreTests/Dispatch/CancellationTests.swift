import DispatchStore
import Foundation
import Testing

@Suite("Cancelling a dispatch", .timeLimit(.minutes(10)))
struct CancellationTests {
  var (dispatcher, stage) = makeStage()
  let log = Recorder<String>()

  private func records(_ name: String) -> Script {
    .runs(name) { [log] _ in log.record(name) }
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func inItsLaneEndsItPromptlyAndSkipsItsPlace(_ mode: Dispatcher.Mode) async {
    let released = Latch()
    let holder = dispatcher.dispatch(
      action: Script.suspends { _ in await released.opened() }, mode: mode)
    let cancelled = dispatcher.dispatch(action: records("cancelled"), mode: mode)
    let next = dispatcher.dispatch(action: records("next"), mode: mode)
    cancelled.cancel()
    // It ends although the lane is still held.
    #expect(await cancelled.result["stage"].wasCancelled(afterItsStart: false))
    #expect(!holder.hasEnded)
    released.open()
    #expect(await next.result.isSuccess)
    #expect(log.all == ["next"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func thatWaitsForAnotherEndsItPromptly(_ mode: Dispatcher.Mode) async {
    let released = Latch()
    let other = dispatcher.dispatch(
      action: Script.suspends { _ in await released.opened() }, mode: .serial(lane: "other"))
    let waiting = dispatcher.dispatch(
      action: records("waiting"), mode: mode, options: .after(other))
    let next = dispatcher.dispatch(action: records("next"), mode: mode)
    waiting.cancel()
    #expect(await waiting.result["stage"].isCancelled == true)
    // The next dispatch on the lane is no longer behind it.
    #expect(await next.result.isSuccess)
    #expect(!other.hasEnded)
    released.open()
    #expect(await other.result.isSuccess)
    #expect(log.all == ["next"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func whileItWaitsRunsItsHooksAndCompletionOnTheConcurrentQueue(_ mode: Dispatcher.Mode) async {
    let log = log
    dispatcher.register(
      middleware: RecordingMiddleware(
        "m", to: log,
        did: { transaction, _, _ in
          if transaction.outcome.isCancelled, !Here.isMainQueue { log.record("cancelled") }
        }))
    let released = Latch()
    let other = stage.dispatch(
      .suspends { _ in await released.opened() }, mode: .serial(lane: "other"))
    let waiting = await MainActor.run {
      dispatcher.dispatch(action: records("never"), mode: mode, options: .after(other)) {
        log.record(Here.isMainQueue ? "completion on the main queue" : "completion")
      }
    }
    _ = await log.first(2)
    waiting.cancel()
    _ = await waiting.result
    #expect(
      log.all == ["m will stage", "m will stage", "m did stage", "cancelled", "completion"])
    released.open()
    _ = await other.result
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func thoseThatWaitForItStillWaitForAllElse(_ mode: Dispatcher.Mode) async {
    let (log, released) = (log, Latch())
    let first = dispatcher.dispatch(
      action: Script.suspends { _ in
        await released.opened()
        log.record("first")
      }, mode: .serial(lane: "first"))
    let second = dispatcher.dispatch(
      action: records("second"), mode: .serial(lane: "second"), options: .after(first))
    let third = dispatcher.dispatch(
      action: records("third"), mode: mode, options: .after(first, second))
    second.cancel()
    _ = await second.result
    _ = await dispatcher.dispatch(action: Script.adds("x"), mode: .serial(lane: "x")).result
    await MainActor.run {}
    #expect(log.all.isEmpty)
    released.open()
    #expect(await third.result.isSuccess)
    #expect(log.all == ["first", "third"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func whileItRunsSetsIsCancelledAndTheBlockDecides(_ mode: Dispatcher.Mode) async {
    let (began, cancelled) = (Recorder<Script.Running>(), Latch())
    let stubborn = Script.controls { operation, _ in began.record(operation) }
    let handle = dispatcher.dispatch(action: stubborn, mode: mode) { cancelled.open() }
    let running = await began.first(1)[0]
    #expect(!running.isCancelled)
    handle.cancel()
    #expect(running.isCancelled)
    #expect(!handle.hasEnded)
    running.updateModel { $0.append("all the same") }
    running.finish()
    #expect(await handle.result["stage"].isFinished == true)
    #expect(stage.model == ["all the same"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func whileItRunsCancelsTheTaskOfAnAsyncBlock(_ mode: Dispatcher.Mode) async {
    let (began, cancelled) = (Latch(), Latch())
    let handle = dispatcher.dispatch(
      action: Script.suspends { _ in
        await withTaskCancellationHandler {
          began.open()
          await cancelled.opened()
        } onCancel: {
          cancelled.open()
        }
        try Task.checkCancellation()
      }, mode: mode)
    await began.opened()
    handle.cancel()
    #expect(await handle.result["stage"].wasCancelled(afterItsStart: true))
    #expect(await dispatcher.dispatch(action: records("next"), mode: mode).result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func whileItRunsEndsTheStoresThatHaveNotStarted(_ mode: Dispatcher.Mode) async {
    dispatcher.addStage("second", waitFor: ["stage"])
    let began = Recorder<Script.Running>()
    let script = Script.controls { operation, _ in began.record(operation) }
    let handle = dispatcher.dispatch(action: script, mode: mode)
    let running = await began.first(1)[0]
    handle.cancel()
    running.finish()
    let result = await handle.result
    #expect(result["stage"].isFinished == true)
    #expect(result["second"].isCancelled == true)
    #expect(began.count == 1)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func afterItsEndDoesNothing(_ mode: Dispatcher.Mode) async {
    let handle = dispatcher.dispatch(action: records("ran"), mode: mode)
    _ = await handle.result
    handle.cancel()
    #expect(await handle.result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func fromInsideItsOwnBlockIsAllowed(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log, handles) = (dispatcher, log, Recorder<DispatchHandle>())
    let script = Script.suspends { _ in
      let handle = dispatcher.dispatch(
        action: Script.suspends { _ in
          await handles.first(1)[0].cancel()
          log.record(Task.isCancelled ? "cancelled" : "not cancelled")
        }, mode: mode == .sync ? .async : mode)
      handles.record(handle)
    }
    await onOwnThread { _ = dispatcher.dispatch(action: script, mode: mode) }
    #expect(await log.first(1) == ["cancelled"])
  }
}
