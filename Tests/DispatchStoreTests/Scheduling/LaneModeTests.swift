import DispatchStore
import Foundation
import Testing

/// What holds for every mode that has a lane: `serial`, named lanes and `mainThread`.
@Suite("Lanes", .timeLimit(.minutes(10)))
struct LaneModeTests {
  var (dispatcher, stage) = makeStage(Dispatcher(queue: .wide(4)))
  let log = Recorder<String>()

  @Test(arguments: Dispatcher.Mode.laneModes)
  func oneDispatchAtATimeInDispatchOrder(_ mode: Dispatcher.Mode) async {
    dispatcher.addStage("second")
    var expected: [String] = []
    for index in 0..<40 {
      let script: Script =
        switch index % 3 {
        case 0:
          .runs { [log] _ in log.record("+\(index)") }
        case 1:
          .suspends { [log] _ in
            log.record("+\(index)")
            for _ in 0..<5 { await Task.yield() }
          }
        default:
          .controls { [log] operation, _ in
            log.record("+\(index)")
            DispatchQueue.global().async { operation.finish() }
          }
        }
      dispatcher.dispatch(action: script, mode: mode) { [log] in log.record("-\(index)") }
      expected += ["+\(index)", "+\(index)", "-\(index)"]
    }
    #expect(await log.first(expected.count) == expected)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aDispatchHoldsItsLaneThroughItsOperation(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (dispatcher, log)
    let queued = Latch()
    let first = Script.suspends { _ in
      await queued.opened()
      // Gives the dispatches behind it every chance to run.
      for _ in 0..<20 { _ = await dispatcher.dispatch(action: Script.adds("other")).result }
      await MainActor.run {}
      log.record("first")
    }
    dispatcher.dispatch(action: first, mode: mode)
    let second = dispatcher.dispatch(action: Script.runs { _ in log.record("second") }, mode: mode)
    queued.open()
    _ = await second.result
    #expect(log.all == ["first", "second"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aDispatchHoldsItsLaneUntilItsCompletionHasRun(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (dispatcher, log)
    let queued = Latch()
    let first = Script.suspends { _ in await queued.opened() }
    dispatcher.dispatch(action: first, mode: mode) {
      dispatcher.dispatch(action: Script.runs { _ in log.record("third") }, mode: mode)
      dispatcher.dispatch(action: Script.runs { _ in log.record("beside") }, mode: .sync)
      log.record("completion")
    }
    dispatcher.dispatch(action: Script.runs { _ in log.record("second") }, mode: mode)
    queued.open()
    #expect(await log.first(4) == ["beside", "completion", "second", "third"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aDispatchThatWaitsForAHandleKeepsItsPlace(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (dispatcher, log)
    let released = Latch()
    let slow = dispatcher.dispatch(
      action: Script.suspends { _ in
        await released.opened()
        log.record("slow")
      }, mode: .serial(lane: "elsewhere"))
    let waiting = Script.runs { _ in log.record("waiting") }
    dispatcher.dispatch(action: waiting, mode: mode, options: .after(slow))
    let next = dispatcher.dispatch(action: Script.runs { _ in log.record("next") }, mode: mode)
    _ = await dispatcher.dispatch(action: Script.adds("other")).result
    await MainActor.run {}
    released.open()
    _ = await next.result
    #expect(log.all == ["slow", "waiting", "next"])
  }
}
