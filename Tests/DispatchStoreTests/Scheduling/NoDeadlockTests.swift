import Foundation
import Testing

@testable import DispatchStore

/// Waits that can end are not refused, and end.
@Suite("What would not deadlock", .timeLimit(.minutes(10)))
struct NoDeadlockTests {
  var (dispatcher, stage) = makeStage(Dispatcher(queue: .wide(1)))
  let log = Recorder<String>()

  @Test(arguments: Dispatcher.Mode.laneModes)
  func anUnstructuredTaskMayAwaitTheLaneOfTheBlockThatMadeIt(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    let awaits: @Sendable (Latch) async -> Void = { dispatched in
      let handle = dispatcher.dispatch(action: Script.adds("inner"), mode: mode)
      dispatched.open()
      results.record(await handle.result)
    }
    let makers: [@Sendable (Latch) -> Void] = [
      { latch in Task { await awaits(latch) } }, { latch in Task.detached { await awaits(latch) } },
    ]
    for make in makers {
      let script = Script.suspends { _ in
        let dispatched = Latch()
        make(dispatched)
        await dispatched.opened()
        // Its wait begins while the lane is held.
        for _ in 0..<50 { _ = await dispatcher.dispatch(action: Script.adds("other")).result }
      }
      dispatcher.dispatch(action: script, mode: mode)
    }
    #expect(await results.first(2).map(\.isSuccess) == [true, true])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func anImmediateTaskMayAwaitTheLaneOfTheCodeThatMadeIt(_ mode: Dispatcher.Mode) async {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    let (dispatcher, results, stage) = (dispatcher, Recorder<DispatchResult>(), stage)
    let awaits: @Sendable () -> Void = {
      _ = Task.immediate {
        results.record(await dispatcher.dispatch(action: Script.adds("in"), mode: mode).result)
      }
    }
    // In a hook, two kinds of blocks, an observer and a completion.
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, action, _ in
        if (action as? Script)?.description == "outer" { awaits() }
        return .pass
      }))
    let token = stage.observe(.model) { if $0.value.last == "outer" { awaits() } }
    let scripts = [
      Script.runs("outer") { stage in
        awaits()
        stage.updateModel { $0.append("outer") }
      },
      Script.suspends("outer") { _ in awaits() },
    ]
    for script in scripts { dispatcher.dispatch(action: script, mode: mode) { awaits() } }
    #expect(await results.first(7).map(\.isSuccess) == Array(repeating: true, count: 7))
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func anOperationMayAwaitAsyncChildrenSyncOnesAndOtherLanes(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    let script = Script.suspends { _ in
      for child in [Dispatcher.Mode.async, .sync, .serial(lane: "other")] {
        results.record(await dispatcher.dispatch(action: Script.adds("child"), mode: child).result)
        async let structured = dispatcher.dispatch(action: Script.adds("let"), mode: child).result
        results.record(await structured)
      }
    }
    #expect(await dispatcher.dispatch(action: script, mode: mode).result.isSuccess)
    #expect(results.count == 6)
    #expect(results.all.filter { !$0.isSuccess }.isEmpty)
  }

  @Test func anAsyncOperationMayAwaitEveryMode() async {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    let script = Script.suspends { _ in
      for mode in Dispatcher.Mode.everyMode {
        results.record(await dispatcher.dispatch(action: Script.adds("child"), mode: mode).result)
      }
    }
    #expect(await dispatcher.dispatch(action: script, mode: .async).result.isSuccess)
    #expect(results.count == 5)
    #expect(results.all.filter { !$0.isSuccess }.isEmpty)
  }

  private struct Raise: AtomicAction {}
  private struct Lower: ActionType {}

  /// Both actions are prepared where they are dispatched, without middleware: one is atomic, the other's store is weak.
  @Test(arguments: Dispatcher.Mode.laneModes, [true, false])
  func aCompletionElsewhereMayWaitForTheLaneOfTheBlockThatDispatched(
    _ mode: Dispatcher.Mode, isAtomic: Bool
  ) async {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    let (made, free) = (Recorder<DispatchHandle>(), Latch())
    let levels = Store(identifier: "level", model: 0) {
      On(Raise.self) { level, _ in level += 1 }
      On(Lower.self) { level, _ in level -= 1 }
    }
    dispatcher.register(store: levels, ownership: isAtomic ? .strong : .weak)
    let waits: @Sendable (DispatchResult) -> Void = { _ in
      let next = dispatcher.dispatch(action: Script.adds("next"), mode: mode)
      results.record(next.wait())
    }
    let script = Script.suspends { _ in
      made.record(
        isAtomic
          ? dispatcher.dispatch(Raise(), mode: .async, then: waits)
          : dispatcher.dispatch(Lower(), mode: .async, then: waits))
      await free.opened()
    }
    let handle = dispatcher.dispatch(action: script, mode: mode)
    let waiter = await made.first(1)[0].dispatch!
    // The wait begins while the lane is held, or is refused.
    while results.all.isEmpty, WaitGraph.waits(of: waiter).isEmpty { await Task.yield() }
    free.open()
    #expect(await handle.result.isSuccess)
    #expect(await results.first(1).map(\.isSuccess) == [true])
    withExtendedLifetime(levels) {}
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aDispatchThatWasCancelledOnTheLaneMayBeAwaitedThere(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    let script = Script.suspends { _ in
      let handle = dispatcher.dispatch(action: Script.adds("never"), mode: mode)
      handle.cancel()
      results.record(await handle.result)
    }
    for _ in 0..<5 { _ = await dispatcher.dispatch(action: script, mode: mode).result }
    for result in results.all { #expect(result["stage"].isCancelled == true) }
    #expect(results.count == 5)
  }

  @Test(arguments: Dispatcher.Mode.offMainModes)
  func aSyncWaitForWhatIsQueuedBehindItInAPoolOfOneEnds(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (dispatcher, log)
    let ended = Latch()
    let script = Script.runs { _ in
      let behind = dispatcher.dispatch(
        action: Script.runs { _ in log.record("behind") }, mode: mode)
      let after = Script.runs { _ in log.record("after") }
      dispatcher.dispatch(action: after, mode: .sync, options: .after(behind))
      log.record("outer")
    }
    dispatcher.dispatch(action: script, mode: .async) { ended.open() }
    await ended.opened()
    #expect(log.all == ["behind", "after", "outer"])
  }

  @Test func waitsOfThatKindMayNest() async {
    let (dispatcher, log) = (dispatcher, log)
    let depth = 8
    @Sendable func script(_ level: Int) -> Script {
      .runs { _ in
        if level < depth {
          let behind = dispatcher.dispatch(action: script(level + 1), mode: .async)
          dispatcher.dispatch(
            action: Script.adds("after"), mode: .sync, options: .after(behind))
        }
        log.record("\(level)")
      }
    }
    _ = await dispatcher.dispatch(action: script(1), mode: .async).result
    #expect(log.all == (1...depth).reversed().map { "\($0)" })
    // No substitute is left: the queue is again one wide.
    let crowd = Crowd(of: 1)
    let ends = Recorder<Int>()
    for index in 0..<50 {
      dispatcher.dispatch(action: Script.runs { _ in crowd.stay() }) { ends.record(index) }
    }
    _ = await ends.first(50)
    #expect(crowd.largest == 1)
  }
}
