import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Tasks that dispatch and send to lanes with priorities, some after others or with a key, and some are cancelled.
  static let lanePriorities = Scenario(
    name: "lane-priorities",
    summary: "equal priorities are in order, and what waits overtakes nothing that came before it"
  ) { dispatcher, simulation in
    let modes: [Dispatcher.Mode] = [.serial, .serial(lane: "a"), .mainThread]
    for mode in modes { dispatcher.usePriorities(in: mode) }
    let plans = (1...3).map { producer in
      (1...5).map {
        LanePlan(producer * 10 + $0, in: [simulation.draw(below: 3)], simulation)
      }
    }
    let run = await LaneRun(of: plans, by: dispatcher) { modes[$0.lanes[0]] }
    try run.checkHolders()
    try run.checkOrder()
  }

  /// Dispatches that wait behind one that holds a lane, and one that is dispatched when the first of them runs.
  static let laneTurns = Scenario(
    name: "lane-turns", summary: "in a lane with priorities each has the turn that it has by them"
  ) { dispatcher, simulation in
    let mode: Dispatcher.Mode = [.serial, .serial(lane: "a"), .mainThread][
      simulation.draw(below: 3)]
    dispatcher.usePriorities(in: mode)
    let order = Shared([Int]())
    let holding = Shared<UnsafeContinuation<RunningOperation<Journal, Entry>, Never>?>(nil)
    let late = Shared<DispatchHandle?>(nil)
    _ = dispatcher.makeJournal(
      "journal",
      inside: { [weak dispatcher] number in
        guard number > 0 else { return }
        order.append(number)
        guard order.now.count == 1 else { return }
        late.with { late in
          late = dispatcher?.dispatch(
            action: Entry.work(99), mode: mode, options: .priority(.veryHigh))
        }
      }, late: { operation in holding.with { $0 }?.resume(returning: operation) })
    let holder = await withUnsafeContinuation { continuation in
      holding.with { $0 = continuation }
      dispatcher.dispatch(action: Entry.late(100), mode: mode)
    }
    var (model, waiting) = ([LanePlan](), Set<Int>())
    var handles: [DispatchHandle] = []
    for number in 1...7 {
      let plan = LanePlan(number, in: [0], simulation)
      model.append(plan)
      if plan.hasKey || plan.isAfter && number > 1 { waiting.insert(number) }
      handles.append(
        dispatcher.dispatch(
          action: plan.entry, mode: mode, options: plan.options(after: handles.last)))
    }
    holder.finish()
    for handle in handles { try check(await handle.result.isSuccess, "one was refused") }
    await late.now?.ended()
    var expected: [Int] = []
    while !model.isEmpty {
      let highest = model.map(\.priority.rawValue).max()
      let next = model.firstIndex { $0.priority.rawValue == highest }!
      expected.append(model.remove(at: waiting.contains(model[next].number) ? 0 : next).number)
      if expected.count == 1 { expected.append(99) }
    }
    try check(order.now == expected, "\(order.now) instead of \(expected)")
  }
}
