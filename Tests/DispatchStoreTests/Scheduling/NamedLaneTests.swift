import Foundation
import Testing

@testable import DispatchStore

@Suite("Named lanes", .timeLimit(.minutes(10)))
struct NamedLaneTests {
  let dispatcher = makeStage(Dispatcher(queue: .wide(1))).dispatcher
  let log = Recorder<String>()

  /// Holds the lane of `holder` and expects that `other` runs meanwhile.
  private func expectConcurrency(_ holder: Dispatcher.Mode, _ other: Dispatcher.Mode) async {
    let released = Latch()
    let holding = dispatcher.dispatch(
      action: Script.suspends { _ in await released.opened() }, mode: holder)
    #expect(await dispatcher.dispatch(action: Script.adds("beside"), mode: other).result.isSuccess)
    #expect(!holding.hasEnded)
    released.open()
    #expect(await holding.result.isSuccess)
  }

  @Test func runConcurrentlyAlsoWithTheDefaultLane() async {
    await expectConcurrency(.serial(lane: "a"), .serial(lane: "b"))
    await expectConcurrency(.serial(lane: "a"), .serial)
    await expectConcurrency(.serial, .serial(lane: "a"))
    await expectConcurrency(.mainThread, .serial(lane: "a"))
    await expectConcurrency(.serial(lane: "a"), .mainThread)
  }

  @Test func keysOfDifferentTypesAreDifferentLanes() async {
    await expectConcurrency(.serial(lane: 1), .serial(lane: 1.0))
    await expectConcurrency(.serial(lane: 1), .serial(lane: Int8(1)))
    await expectConcurrency(.serial(lane: "1"), .serial(lane: 1))
    #expect(Dispatcher.Mode.serial(lane: 1) != .serial(lane: 1.0))
  }

  @Test func equalKeysOfOneTypeAreOneLane() async {
    let (log, released) = (log, Latch())
    dispatcher.dispatch(
      action: Script.suspends { _ in
        await released.opened()
        log.record("first")
      }, mode: .serial(lane: ["account", "1"]))
    let second = dispatcher.dispatch(
      action: Script.runs { _ in log.record("second") }, mode: .serial(lane: ["account", "1"]))
    _ = await dispatcher.dispatch(action: Script.adds("other")).result
    released.open()
    _ = await second.result
    #expect(log.all == ["first", "second"])
    #expect(Dispatcher.Mode.serial(lane: ["a"]) == .serial(lane: ["a"]))
  }

  @Test func areRemovedWhenTheyHaveRunEmpty() async {
    let released = Latch()
    let handles = (0..<100).map { lane in
      dispatcher.dispatch(
        action: Script.suspends { _ in await released.opened() }, mode: .serial(lane: lane))
    }
    #expect(dispatcher.laneCount == 100)
    released.open()
    for handle in handles { _ = await handle.result }
    // The queue's only thread runs this after it has left each lane.
    _ = await dispatcher.dispatch(action: Script.adds("last")).result
    #expect(dispatcher.laneCount == 0)
  }

  @Test func oneThatIsRemovedLosesNothingDispatchedMeanwhile() async {
    let dispatcher = Dispatcher(queue: .wide(4))
    dispatcher.addStage()
    let (producers, actions) = (4, 250)
    let log = Recorder<Int>()
    await onOwnThreads(producers) { producer in
      for index in 0..<actions {
        let recorded = producer * actions + index
        dispatcher.dispatch(
          action: Script.runs { _ in log.record(recorded) }, mode: .serial(lane: index % 2))
      }
    }
    let all = await log.first(producers * actions)
    #expect(all.sorted() == Array(0..<(producers * actions)))
    for producer in 0..<producers {
      for lane in 0..<2 {
        let own = all.filter { $0 / actions == producer && $0 % 2 == lane }
        #expect(own == own.sorted())
      }
    }
  }
}
