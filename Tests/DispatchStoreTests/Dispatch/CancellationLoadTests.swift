import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

@Suite("Cancelling under load", .serialized, .timeLimit(.minutes(10)))
struct CancellationLoadTests {
  /// How the dispatch with this index ended.
  private struct End: Sendable {
    let index: Int
    let outcome: StoreOutcome?
  }

  let dispatcher = makeStage().dispatcher
  let ran = Recorder<Int>()
  private let ends = Recorder<End>()

  private func dispatch(_ index: Int, _ mode: Dispatcher.Mode) -> DispatchHandle {
    dispatcher.dispatch(Script.runs { [ran] _ in ran.record(index) }, mode: mode) { [ends] result in
      ends.record(End(index: index, outcome: result["stage"]))
    }
  }

  /// Each completion ran once; a dispatch that ran has finished, any other was cancelled.
  private func expectOneEndEach(_ total: Int, _ mode: Dispatcher.Mode) async {
    let ends = await ends.first(total)
    #expect(ends.count == total)
    #expect(Set(ends.map(\.index)).count == total)
    let finished = ends.filter { $0.outcome?.isFinished == true }.map(\.index)
    let cancelled = ends.filter { $0.outcome?.isCancelled == true }.map(\.index)
    #expect(finished.count + cancelled.count == total)
    let ran = ran.all
    #expect(ran.sorted() == finished.sorted())
    if mode != .async { #expect(ran == ran.sorted()) }
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func manyThreadsThatCancelPendingOnesEndEachOnce(_ mode: Dispatcher.Mode) async {
    let total = Load.count(10_000)
    let (began, mayGoOn) = (Latch(), Latch())
    // This dispatch holds the lane until all the others are pending.
    let holder = dispatcher.dispatch(
      action: Script.holds(opening: began, until: mayGoOn), mode: mode)
    await began.opened()
    let handles = (0..<total).map { dispatch($0, mode) }
    await onOwnThreads(8) { thread in
      var random = SeededGenerator(seed: UInt64(thread))
      for index in 0..<(total * 3 / 20) {
        handles[Int.random(in: 0..<total, using: &random)].cancel()
        if index == total / 20 { mayGoOn.open() }
      }
    }
    for handle in handles { _ = await handle.result }
    #expect(await holder.result.isSuccess)
    await expectOneEndEach(total, mode)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func oneThatCancelsWhatAnotherDispatchesEndsEachOnce(_ mode: Dispatcher.Mode) async {
    let (total, issued) = (Load.count(4_000), Recorder<DispatchHandle>())
    await onOwnThreads(2) { thread in
      if thread == 0 {
        for index in 0..<total { issued.record(dispatch(index, mode)) }
        return
      }
      for count in stride(from: 200, through: total, by: 200) {
        issued.waitFor(count)
        for handle in issued.all[(count - 200)..<count].reversed() { handle.cancel() }
      }
    }
    await expectOneEndEach(total, mode)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func manyThreadsThatCancelTheSameEndItOnce(_ mode: Dispatcher.Mode) async {
    for index in 0..<100 {
      let handle = dispatch(index, mode)
      await onOwnThreads(4) { _ in handle.cancel() }
      _ = await handle.result
    }
    await expectOneEndEach(100, mode)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aRunningBlockSeesItAndDecidesTheOutcome(_ mode: Dispatcher.Mode) async {
    let (dispatcher, began, results) = (
      dispatcher, Recorder<Script.Running>(), Recorder<DispatchResult>()
    )
    let next = EventCount(of: 1_000)
    let handle = dispatcher.dispatch(
      Script.controls { operation, _ in began.record(operation) }, mode: mode
    ) { results.record($0) }
    let running = await began.first(1)[0]
    for _ in 0..<1_000 {
      dispatcher.dispatch(action: Script.runs { _ in }, mode: mode) { next.add() }
    }
    await onOwnThreads(8) { _ in
      for _ in 0..<100 { handle.cancel() }
    }
    #expect(running.isCancelled)
    #expect(results.count == 0)
    await onOwnThread { running.finish() }
    await next.full()
    #expect(await results.first(1)[0]["stage"].isFinished == true)
    #expect(results.count == 1)
  }
}
