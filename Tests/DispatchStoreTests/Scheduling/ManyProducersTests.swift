import DispatchStore
import Foundation
import Testing

@Suite("Many producers", .serialized, .timeLimit(.minutes(10)))
struct ManyProducersTests {
  static let producers = 64

  let dispatcher = makeStage().dispatcher
  let log = Recorder<Int>()

  @Test(arguments: Dispatcher.Mode.everyMode)
  func loseNothingAndOnLanesKeepTheirOwnOrder(_ mode: Dispatcher.Mode) async {
    let actions = Load.count(60, long: 1_000)
    let (total, ends) = (Self.producers * actions, EventCount(of: Self.producers * actions))
    await onOwnThreads(Self.producers) { [dispatcher, log] producer in
      for index in 0..<actions {
        let recorded = producer * actions + index
        dispatcher.dispatch(action: Script.runs { _ in log.record(recorded) }, mode: mode) {
          ends.add()
        }
      }
    }
    await ends.full()
    #expect(log.all.sorted() == Array(0..<total))
    if mode != .async { expectTheOrderOfEachProducer(actions) }
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func keepTheirOwnOrderAlsoWhereTheyPauseForTheirLast(_ mode: Dispatcher.Mode) async {
    let actions = 20
    // The lane runs empty again and again, and its drainers come and go.
    await onOwnThreads(Self.producers) { [dispatcher, log] producer in
      for index in 0..<actions {
        let (recorded, ended) = (producer * actions + index, Latch())
        dispatcher.dispatch(action: Script.runs { _ in log.record(recorded) }, mode: mode) {
          ended.open()
        }
        if index.isMultiple(of: 4) { ended.wait() }
      }
    }
    #expect(Set(await log.first(Self.producers * actions)).count == Self.producers * actions)
    expectTheOrderOfEachProducer(actions)
  }

  @Test func mixingTheModesLoseNothing() async {
    let (modes, actions) = (Dispatcher.Mode.everyMode, 50)
    let ends = EventCount(of: Self.producers * actions)
    let store = dispatcher.register(store: .counter("counter"))
    await onOwnThreads(Self.producers) { [dispatcher] producer in
      for index in 0..<actions {
        let mode = modes[(producer + index) % modes.count]
        dispatcher.dispatch(action: CounterAction.add(1), mode: mode) { ends.add() }
      }
    }
    await ends.full()
    #expect(store.model.count == Self.producers * actions)
  }

  private func expectTheOrderOfEachProducer(_ actions: Int) {
    var last = [Int](repeating: -1, count: Self.producers)
    for recorded in log.all {
      let producer = recorded / actions
      #expect(recorded > last[producer])
      last[producer] = recorded
    }
  }
}
