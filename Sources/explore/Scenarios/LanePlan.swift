import DispatchStore
import DispatchStoreTesting
import Foundation

/// A dispatch to one lane or several, as it was drawn.
struct LanePlan: Sendable, CustomStringConvertible {
  let number: Int
  let lanes: [Int]
  let priority: Operation.QueuePriority
  let isSlow: Bool
  let isSent: Bool
  let isCancelled: Bool
  let timesOut: Bool
  /// Whether it is after another one, and whether it has a key.
  let isAfter: Bool
  let hasKey: Bool

  init(
    _ number: Int, in lanes: [Int], _ simulation: SimulationControl,
    priorities: [Operation.QueuePriority] = [.low, .normal, .high], mayTimeOut: Bool = false
  ) {
    (self.number, self.lanes) = (number, lanes)
    priority = priorities[simulation.draw(below: priorities.count)]
    isSlow = simulation.draw(below: 2) == 0
    isSent = simulation.draw(below: 3) == 0
    isCancelled = simulation.draw(below: 6) == 0
    timesOut = mayTimeOut && simulation.draw(below: 8) == 0
    isAfter = simulation.draw(below: 3) == 0
    hasKey = simulation.draw(below: 4) == 0
  }

  var entry: Entry { isSlow ? .slow(number) : .work(number) }
  var description: String { "\(number) in lanes \(lanes) with priority \(priority.rawValue)" }
  var mayEndEarly: Bool { isCancelled || timesOut }

  func options(after other: DispatchHandle?) -> DispatchOptions {
    let before = isAfter ? other.map { DispatchOptions.after($0) } : nil
    return [
      before ?? [], priority == .normal ? [] : .priority(priority), hasKey ? .exclusive("key") : [],
      timesOut ? .timeout(.milliseconds(number)) : [],
    ]
  }

  /// Whether it has its turn after one that came before it from the same producer.
  func mayNotOvertake(_ other: LanePlan) -> Bool {
    !Set(lanes).isDisjoint(with: other.lanes) && (priority == other.priority || hasKey)
  }
}

/// A run of the plans of several producers.
struct LaneRun {
  /// The results, by number.
  let results: [Int: DispatchResult]
  private let plans: [[LanePlan]]
  private let holders: Holders<Int>

  /// Dispatches or sends the plans of each producer in order, and awaits all.
  init(
    of plans: [[LanePlan]], by dispatcher: Dispatcher,
    in modeOf: @escaping @Sendable (LanePlan) -> Dispatcher.Mode
  ) async {
    let lanes = Dictionary(uniqueKeysWithValues: plans.joined().map { ($0.number, $0.lanes) })
    let (holders, results) = (Holders<Int>(), Shared([Int: DispatchResult]()))
    _ = dispatcher.makeJournal("journal") { holders.note($0, in: lanes[abs($0)]!) }
    await concurrently(plans) { plans in
      var handles: [(number: Int, handle: DispatchHandle)] = []
      await withTaskGroup { sends in
        for plan in plans {
          let (mode, options) = (modeOf(plan), plan.options(after: handles.last?.handle))
          // A dispatch that is sent to the main queue goes there first, and so may come later than later ones.
          if plan.isSent, mode != .mainThread {
            sends.addImmediateTask {
              results[plan.number] = await dispatcher.send(
                plan.entry, to: "journal", mode: mode, options: options
              ).result
            }
            continue
          }
          let handle = dispatcher.dispatch(
            storeIdentifier: "journal", action: plan.entry, mode: mode, options: options)
          if plan.isCancelled { dispatcher.simulation!.startThread { handle.cancel() } }
          handles.append((plan.number, handle))
        }
      }
      for (number, handle) in handles { results[number] = await handle.result }
    }
    (self.plans, self.holders, self.results) = (plans, holders, results.now)
  }

  /// Checks that each lane had one holder at a time, and that all have run but what may end early.
  func checkHolders() throws {
    for plan in plans.joined() where !plan.mayEndEarly {
      try check(holders.begun.contains(plan.number), "\(plan) has not run")
    }
    try check(holders.faults.now.isEmpty, "\(holders.faults.now)")
  }

  /// Checks that no dispatch has overtaken one before it that it may not overtake.
  func checkOrder() throws {
    let begun = holders.begun
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
}
