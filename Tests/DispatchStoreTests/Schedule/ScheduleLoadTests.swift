import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Many schedules", .timeLimit(.minutes(10)))
struct ScheduleLoadTests {
  let scene = GateStage()

  @Test func manyAtOnceAllRun() async {
    let count = Load.count(20_000, long: 1_000_000)
    let counter = scene.dispatcher.register(store: CounterStore.counter("counter"))
    let ended = EventCount(of: count)
    let date = scene.clock.date.addingTimeInterval(60)
    for number in 0..<count {
      let options: DispatchOptions =
        number % 2 == 0 ? .delayed(by: .seconds(60)) : .scheduled(at: date)
      counter.dispatch(.add(1), mode: .async, options: options) { _ in ended.add() }
    }
    #expect(scene.dispatcher.timers.count == 1)
    #expect(scene.dispatcher.delayedDispatches.count == count)
    await scene.clock.pass(.seconds(30))
    await scene.comeToRest()
    #expect(ended.count == 0)
    await scene.clock.pass(.seconds(30))
    await ended.full()
    #expect(counter.model.count == count)
    #expect(await scene.nothingRemains())
  }

  @Test func thoseOfALaneThatAreDueTogetherBeginInTheOrderOfTheirTimes() async {
    let count = Load.count(1_000)
    let notes = scene.dispatcher.register(store: CounterStore.counter("notes"))
    let ended = EventCount(of: 2 * count)
    for lane in 0..<count {
      for seconds in [2, 1] {
        notes.dispatch(
          .note("\(lane) \(seconds)"), mode: .serial(lane: lane),
          options: .delayed(by: .seconds(seconds))
        ) { _ in ended.add() }
      }
    }
    await scene.clock.pass(.seconds(3))
    await ended.full()
    let byLane = Dictionary(grouping: notes.model.notes) { String($0.prefix { $0 != " " }) }
    #expect(byLane.count == count)
    for (lane, notes) in byLane { #expect(notes == ["\(lane) 1", "\(lane) 2"]) }
    #expect(await scene.nothingRemains())
  }

  @Test func ofManyThreadsOneOfANameRuns() async {
    let (dispatcher, stage) = (scene.dispatcher, scene.stage)
    let handles = Recorder<DispatchHandle>()
    await onOwnThreads(4) { thread in
      for number in 0..<100 {
        handles.record(
          dispatcher.dispatch(
            Script.adds("\(thread) \(number)"), mode: .serial,
            options: .delayed(by: .seconds(Int64(1 + number % 3)), name: "k")))
      }
    }
    await scene.clock.pass(.seconds(3))
    var codes: [DispatchError.Code?] = []
    for handle in handles.all { codes.append(await handle.result.dispatchError?.code) }
    #expect(codes.count { $0 == nil } == 1)
    #expect(codes.count { $0 == .skipped } == 399)
    #expect(stage.model.count == 1)
  }
}
