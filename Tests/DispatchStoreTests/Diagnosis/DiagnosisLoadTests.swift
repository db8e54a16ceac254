import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Diagnosis: load", .timeLimit(.minutes(10)))
struct DiagnosisLoadTests {
  /// Diagnoses from threads of their own, while others dispatch in all modes and forms, cancel and time out.
  @Test(arguments: 0..<4)
  func takenWhileAllGoesOnShowsNoRing(round: Int) async {
    let dispatcher = Dispatcher(queue: .wide(4))
    let (ended, reports) = (EventCount(of: 8), Recorder<Diagnosis>())
    dispatcher.watchdog(after: .milliseconds(20)) { if $0.isCertain { reports.record($0) } }
    dispatcher.addStage()
    let stores = (0..<3).map { dispatcher.register(store: CounterStore.counter("\($0)")) }
    let limit = DispatchLimit(2, overflow: .wait)
    let looking = (0..<2).map { _ in
      let over = Latch()
      Thread {
        // So many at most: each looks at all that is in flight.
        for _ in 0..<Load.count(40) where ended.count < 8 {
          let diagnosis = dispatcher.diagnosis()
          if diagnosis.isCertain { reports.record(diagnosis) }
          _ = (diagnosis.mermaid, diagnosis.description)
        }
        over.open()
      }.start()
      return over
    }
    await withDiscardingTaskGroup { group in
      for producer in 0..<8 {
        group.addTask {
          var last: DispatchHandle?
          for index in 0..<Load.count(200) {
            let mode = Dispatcher.Mode.everyMode[(index + producer) % 5]
            let lane = Dispatcher.Mode.serial(lane: index % 3)
            let store = stores[index % 3]
            switch index % 6 {
            case 0: store.dispatch(.add(1), mode: mode)
            case 1:
              last = dispatcher.dispatch(
                action: Script.suspends { _ in await Task.yield() },
                mode: mode == .sync ? lane : mode,
                options: last.map { .after($0) } ?? .after())
            case 2: _ = await store.send(.add(1), mode: lane)
            case 3: _ = await store.send(.add(1), mode: lane, options: .limited(by: limit))
            case 4:
              let handle = dispatcher.dispatch(
                actions: [Script.adds("a"), Script.runs { _ in }], mode: lane,
                options: .timeout(.microseconds(200)))
              if index % 4 == 0 { handle.cancel() }
            default:
              dispatcher.dispatch(
                action: Script.runs { _ in store.dispatch(.add(1), mode: .sync) }, mode: lane)
            }
          }
          await last?.ended()
          ended.add()
        }
      }
    }
    for over in looking { await over.opened() }
    #expect(await dispatcher.drain().isComplete)
    #expect(dispatcher.diagnosis().entries.isEmpty)
    #expect(reports.all.isEmpty, "\(reports.all.first!)")
  }
}

extension Diagnosis {
  /// Whether it has a ring that it does not only suspect.
  fileprivate var isCertain: Bool { cycles.contains { !$0.isProbable } }
}
