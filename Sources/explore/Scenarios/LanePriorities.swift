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
      (1...5).map { Plan(producer * 10 + $0, lane: simulation.draw(below: 3), simulation) }
    }
    let lanes = Dictionary(uniqueKeysWithValues: plans.joined().map { ($0.number, $0.lane) })
    let holders = Holders<Int>()
    _ = dispatcher.makeJournal("journal") { holders.note($0, in: [lanes[abs($0)]!]) }
    await concurrently(plans) { plans in
      var handles: [DispatchHandle] = []
      await withTaskGroup { sends in
        for plan in plans {
          let options = plan.options(after: handles.last)
          let mode = modes[plan.lane]
          // A dispatch that is sent to the main queue goes there first, and so may come later than later ones.
          if plan.isSent, mode != .mainThread {
            sends.addImmediateTask {
              await dispatcher.send(plan.entry, to: "journal", mode: mode, options: options)
            }
            continue
          }
          let handle = dispatcher.dispatch(
            storeIdentifier: "journal", action: plan.entry, mode: mode, options: options)
          if plan.isCancelled { simulation.startThread { handle.cancel() } }
          handles.append(handle)
        }
      }
      for handle in handles { await handle.ended() }
    }
    let begun = holders.begun
    for plan in plans.joined() where !plan.isCancelled {
      try check(begun.contains(plan.number), "\(plan) has not run")
    }
    try check(holders.faults.now.isEmpty, "\(holders.faults.now)")
    for plans in plans {
      for (index, later) in plans.enumerated() {
        for earlier in plans[..<index] where later.mayNotOvertake(earlier) {
          guard let one = begun.firstIndex(of: earlier.number),
            let other = begun.firstIndex(of: later.number)
          else { continue }
          try check(one < other, "\(later) has overtaken \(earlier): \(begun)")
        }
      }
    }
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
    var (model, waiting) = ([Plan](), Set<Int>())
    var handles: [DispatchHandle] = []
    for number in 1...7 {
      let plan = Plan(number, lane: 0, simulation)
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

/// A dispatch to a lane with priorities, as it was drawn.
private struct Plan: Sendable, CustomStringConvertible {
  let number: Int
  let lane: Int
  let priority: Operation.QueuePriority
  let isSlow: Bool
  let isSent: Bool
  let isCancelled: Bool
  /// Whether it is after another one, and whether it has a key.
  let isAfter: Bool
  let hasKey: Bool

  init(_ number: Int, lane: Int, _ simulation: SimulationControl) {
    (self.number, self.lane) = (number, lane)
    priority = [.low, .normal, .high][simulation.draw(below: 3)]
    isSlow = simulation.draw(below: 2) == 0
    isSent = simulation.draw(below: 3) == 0
    isCancelled = simulation.draw(below: 6) == 0
    isAfter = simulation.draw(below: 3) == 0
    hasKey = simulation.draw(below: 4) == 0
  }

  var entry: Entry { isSlow ? .slow(number) : .work(number) }
  var description: String { "\(number) in lane \(lane) with priority \(priority.rawValue)" }

  func options(after other: DispatchHandle?) -> DispatchOptions {
    let before = isAfter ? other.map { DispatchOptions.after($0) } : nil
    return [before ?? [], .priority(priority), hasKey ? .exclusive("key") : []]
  }

  /// Whether it has its turn after one that came before it from the same producer.
  func mayNotOvertake(_ other: Plan) -> Bool {
    lane == other.lane && (priority == other.priority || hasKey)
  }
}
