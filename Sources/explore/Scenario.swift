import DispatchStore
import DispatchStoreTesting

/// A promise of the engine, as a program that is run in many orders.
struct Scenario: Sendable {
  let name: String
  /// The promise in one line.
  let summary: String
  let body: @Sendable (Dispatcher) async throws -> Void

  init(
    name: String, summary: String,
    _ body: @escaping @Sendable (Dispatcher, SimulationControl) async throws -> Void
  ) {
    (self.name, self.summary) = (name, summary)
    self.body = { try await body($0, $0.simulation!) }
  }

  /// All scenarios, by subject.
  static let all = [
    // Lanes, queues and threads
    handOver, namedLanes, laneNames, sends, limitedSends, turns, transfers, lateTransfers,
    lanePriorities, laneTurns, lanePriorityRings, suspension, widening, suspendedWaits,
    // Waits that could not end
    refusals, notificationRings, deliveryRings, hookRings, dependencyRings, lateDependencies,
    lateRings, unitRings,
    // Observers and streams
    observers, tokens, streams, caughtUp,
    // Stores, operations, results
    unregistering, routes, registering, closedRegistering, releasedDispatchers, operations,
    callbacks, dependencies, audits, sections, sequences, handles, replies,
    // Options
    limits, deadlines, lateTimers, retries, bounds, exclusion, rates, droppedDelays, rateLimits,
    breakers, joins, schedules, repeating, closedSchedules,
    // Effects, groups, diagnoses
    effects, groups, families, drains, diagnosis,
    // Atomic actions, undo, recording
    atomic, undo, recording,
    // What is saved
    saving, failedSaving, closing, persistentReplacing, owners, keys, forgottenKeys, outbox,
    closedWork, poison, deadLetters, removedWork, attemptLimits, savedSchedules, cancelledSchedules,
  ]
}

/// A promise that the engine broke.
struct Broken: Error, CustomStringConvertible {
  let description: String
}

/// Runs a body for each item, in tasks at the same time; the results are in the order in which the tasks end.
@discardableResult
func concurrently<Items: Sequence, Value: Sendable>(
  _ items: Items, _ body: @escaping @Sendable (Items.Element) async -> Value
) async -> [Value] where Items.Element: Sendable {
  await withTaskGroup(of: Value.self) { group in
    for item in items { group.addTask { await body(item) } }
    return await group.reduce(into: []) { $0.append($1) }
  }
}

func check(_ isKept: Bool, _ promise: @autoclosure () -> String) throws {
  if !isKept { throw Broken(description: promise()) }
}

/// Checks that the entries of each producer, which are those of its ten, are in order.
func checkOrder(_ entries: [Int], of producers: ClosedRange<Int> = 1...3) throws {
  for producer in producers {
    let own = entries.filter { $0 / 10 == producer }
    try check(own == own.sorted(), "\(own) is not the order of producer \(producer)")
  }
}

extension Sequence<DispatchHandle> {
  /// The results, in the order of the handles.
  var results: [DispatchResult] {
    get async {
      var results: [DispatchResult] = []
      for handle in self { results.append(await handle.result) }
      return results
    }
  }
}

extension DispatchResult {
  /// Whether it was refused, since it would have closed a ring of waits.
  var isRefused: Bool { dispatchError?.code == .wouldDeadlock }
}
