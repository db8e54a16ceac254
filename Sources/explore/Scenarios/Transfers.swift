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
      (1...4).map { Transfer(producer * 10 + $0, simulation) }
    }
    let lanes = Dictionary(uniqueKeysWithValues: plans.joined().map { ($0.number, $0.lanes) })
    let accounts = Holders<Int>()
    _ = dispatcher.makeJournal("journal") { accounts.note($0, in: lanes[abs($0)]!) }
    let results = Shared([Int: DispatchResult]())
    if simulation.draw(below: 3) == 0 {
      simulation.startThread {
        dispatcher.queue.isSuspended = true
        simulation.startThread { dispatcher.queue.isSuspended = false }
      }
    }
    await concurrently(plans) { plans in
      var handles: [(Int, DispatchHandle)] = []
      await withTaskGroup { sends in
        for plan in plans {
          let options = plan.options(after: handles.last?.1, usesPriorities)
          let mode = Dispatcher.Mode.serial(lanes: plan.lanes)
          if plan.isSent {
            sends.addImmediateTask {
              results[plan.number] = await dispatcher.send(
                plan.entry, to: "journal", mode: mode, options: options
              ).result
            }
            continue
          }
          let handle = dispatcher.dispatch(
            storeIdentifier: "journal", action: plan.entry, mode: mode, options: options)
          if plan.isCancelled { simulation.startThread { handle.cancel() } }
          handles.append((plan.number, handle))
        }
      }
      for (number, handle) in handles {
        results[number] = await handle.result
      }
    }
    try check(accounts.faults.now.isEmpty, "\(accounts.faults.now)")
    let begun = accounts.begun
    for plan in plans.joined() where !plan.mayEndEarly {
      try check(
        results[plan.number]?.isSuccess == true, "\(plan): \(results[plan.number]!)")
      try check(begun.contains(plan.number), "\(plan) has not run")
    }
    if usesPriorities { return }
    for plans in plans {
      for (index, later) in plans.enumerated() {
        for earlier in plans[..<index] where !Set(later.lanes).isDisjoint(with: earlier.lanes) {
          guard let one = begun.firstIndex(of: earlier.number),
            let other = begun.firstIndex(of: later.number)
          else { continue }
          try check(one < other, "\(later) has overtaken \(earlier): \(begun)")
        }
      }
    }
  }
}

extension Scenario {
  /// Dispatches in two of three lanes that begin later, and repeats that join them and so wait for them before.
  static let lateTransfers = Scenario(
    name: "late-transfers",
    summary: "dispatches in several lanes that wait for no other are not refused"
  ) { dispatcher, simulation in
    _ = dispatcher.makeJournal("journal") { _ in }
    let results = Shared([DispatchResult]())
    await withTaskGroup { group in
      for number in 0..<6 {
        let first = simulation.draw(below: 3)
        let lanes = [first, (first + 1 + simulation.draw(below: 2)) % 3]
        let delay = Duration.milliseconds(simulation.draw(below: 2))
        for _ in 0..<2 {
          group.addTask {
            let result = await dispatcher.dispatch(
              action: Entry.work(number), mode: .serial(lanes: lanes),
              options: [.idempotencyKey(number), .delayed(by: delay)]
            ).result
            results.append(result)
          }
        }
      }
    }
    for result in results.now { try check(result.isSuccess, "\(result)") }
  }
}

/// A dispatch in some lanes, as it was drawn.
private struct Transfer: Sendable, CustomStringConvertible {
  let number: Int
  let lanes: [Int]
  let isSlow: Bool
  let isSent: Bool
  let isCancelled: Bool
  let timesOut: Bool
  let isAfter: Bool
  let hasKey: Bool
  let isUrgent: Bool

  init(_ number: Int, _ simulation: SimulationControl) {
    self.number = number
    let first = simulation.draw(below: 3)
    let step = 1 + simulation.draw(below: 2)
    let all = [first, (first + step) % 3, (first + 2 * step) % 3]
    lanes = Array(all.prefix([1, 2, 2, 3][simulation.draw(below: 4)]))
    isSlow = simulation.draw(below: 2) == 0
    isSent = simulation.draw(below: 3) == 0
    isCancelled = simulation.draw(below: 6) == 0
    timesOut = simulation.draw(below: 8) == 0
    isAfter = simulation.draw(below: 4) == 0
    hasKey = simulation.draw(below: 4) == 0
    isUrgent = simulation.draw(below: 2) == 0
  }

  var entry: Entry { isSlow ? .slow(number) : .work(number) }
  var description: String { "\(number) in lanes \(lanes)" }
  var mayEndEarly: Bool { isCancelled || timesOut }

  func options(after other: DispatchHandle?, _ usesPriorities: Bool) -> DispatchOptions {
    [
      isAfter ? .after(other.map { [$0] } ?? []) : [], hasKey ? .exclusive("key") : [],
      timesOut ? .timeout(.milliseconds(number)) : [],
      usesPriorities && isUrgent ? .priority(.high) : [],
    ]
  }
}
