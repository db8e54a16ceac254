import DispatchStore

/// A promise of the engine, as a program that is run in many orders.
struct Scenario: Sendable {
  let name: String
  /// The promise in one line.
  let summary: String
  let body: @Sendable (Dispatcher) async throws -> Void

  static let all = [
    lanes, handOver, namedLanes, waitFor, cancellation, observers, unregistering, waits, suspension,
    operations, sequences, middlewares, weakStores, handles, callbacks, notificationRings, tokens,
    dependencies, tasks, twoDispatchers, failures, refusals, substitutes, widening,
    sharedQueue, suspendedWaits, applying, audits, sections, deliveryRings, hookRings,
    dependencyRings, lateDependencies, leftChanges, sends, nestedSends, limitedSends, turns, routes,
    laneNames,
    replies, streams, caughtUp, groups, limits, deadlines, laneDeadlines, lateTimers, retries,
    bounds, drains, effects, skips,
    rateLimits, breakers,
    exclusion, rates, droppedDelays, joins, keys, forgottenKeys, outbox, closedWork, poison,
    deadLetters, removedWork, attemptLimits,
    savedSchedules,
    cancelledSchedules,
    registering, closedRegistering,
    lateRings, diagnosis,
    lanePriorities,
    laneTurns,
    lanePriorityRings, families, releasedDispatchers, transfers, lateTransfers, atomic, saving,
    failedSaving, closing,
    persistentReplacing,
    owners,
    schedules, repeating, closedSchedules, undo, recording,
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
