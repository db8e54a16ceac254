import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Dispatches in one, two or three of three lanes, from threads and tasks, some of which wait for others or a key, are
  /// cancelled or time out, while the queue may be suspended.
  static let transfers = Scenario(
    name: "transfers", summary: "a dispatch in several lanes is first in each, holds all, and ends"
  ) { dispatcher, simulation in
    let usesPriorities = simulation.draw(below: 4) == 0
    if usesPriorities {
      for lane in 0..<3 { dispatcher.usePriorities(in: .serial(lane: lane)) }
    }
    let plans = (1...3).map { producer in
      (1...4).map { number in
        let lanes = simulation.drawLanes()
        let count = [1, 2, 2, 3][simulation.draw(below: 4)]
        return LanePlan(
          producer * 10 + number, in: Array(lanes.prefix(count)), simulation,
          priorities: usesPriorities ? [.normal, .high] : [.normal], mayTimeOut: true)
      }
    }
    if simulation.draw(below: 3) == 0 {
      simulation.startThread {
        dispatcher.queue.isSuspended = true
        simulation.startThread { dispatcher.queue.isSuspended = false }
      }
    }
    let run = await LaneRun(of: plans, by: dispatcher) { .serial(lanes: $0.lanes) }
    for plan in plans.joined() where !plan.mayEndEarly {
      let result = run.results[plan.number]
      try check(result?.isSuccess == true, "\(plan): \(result!)")
    }
    try run.checkHolders()
    if !usesPriorities { try run.checkOrder() }
  }

  /// Dispatches in two of three lanes that begin later, and repeats that join them and so wait for them before.
  static let lateTransfers = Scenario(
    name: "late-transfers",
    summary: "dispatches in several lanes that wait for no other are not refused"
  ) { dispatcher, simulation in
    _ = dispatcher.makeJournal("journal") { _ in }
    let plans = (0..<6).map { number in
      let lanes = Array(simulation.drawLanes().prefix(2))
      let delay = Duration.milliseconds(simulation.draw(below: 2))
      return (number: number, lanes: lanes, delay: delay)
    }
    let results = await concurrently((plans + plans).sorted { $0.number < $1.number }) { plan in
      await dispatcher.dispatch(
        action: Entry.work(plan.number), mode: .serial(lanes: plan.lanes),
        options: [.idempotencyKey(plan.number), .delayed(by: plan.delay)]
      ).result
    }
    for result in results { try check(result.isSuccess, "\(result)") }
  }
}

extension SimulationControl {
  /// Draws an order of the three lanes.
  fileprivate func drawLanes() -> [Int] {
    let (first, step) = (draw(below: 3), 1 + draw(below: 2))
    return [first, (first + step) % 3, (first + 2 * step) % 3]
  }
}
