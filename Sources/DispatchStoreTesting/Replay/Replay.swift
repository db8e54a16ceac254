public import DispatchStore

/// Runs a recorded log through the real stores once more, in its own order.
///
/// Each dispatch of the log that no other one has made is sent, and awaited, in the order of its commits; what handlers
/// dispatch themselves comes with it. Those that were cancelled or timed out before they began are left out. Then the
/// changes of each store are compared with the recorded ones, so a reducer that reads the date or draws a number is
/// found.
///
///     try await replay(log, decoding: ActionCoder(Place.self, Pay.self)) { dispatcher in
///       dispatcher.register(store: makeOrders())
///     }
///
/// - Parameters:
///   - log: The log, from the first action on: stores begin as they did when it was recorded.
///   - coder: The types of the log's actions.
///   - stores: Registers the stores with the dispatcher.
/// - Returns: The dispatcher, with its stores as they are after the replay.
/// - Throws: The first `ReplayDifference`, or a `ReplayError` if the log can't be replayed.
@discardableResult
public func replay(
  _ log: DispatchLog, decoding coder: ActionCoder, stores: (Dispatcher) async throws -> Void
) async throws -> Dispatcher {
  let plan = try ReplayPlan(log, decoding: coder)
  let dispatcher = Dispatcher(name: "replay of \(log.dispatcher)")
  try await stores(dispatcher)
  let recorder = DispatchRecorder(limit: max(1, 2 * log.entries.count), actions: coder)
  dispatcher.register(middleware: recorder)
  for root in plan.roots { await root.run(at: dispatcher, mode: .async).settled }
  if let difference = ReplayComparison(log, recorder.log).first { throw difference }
  return dispatcher
}

/// Runs a recorded log in its own order, as `replay` does, and then in orders drawn from seeds.
///
/// In a drawn order, dispatches that had lanes keep their order in each. All others may come in any order, and may overlap.
/// Use it to find out if last night's actions would have broken the stores in another order.
///
/// - Parameters:
///   - log: The log, from the first action on.
///   - coder: The types of the log's actions.
///   - seeds: The seeds from which the orders are drawn.
///   - stepLimit: The maximum number of steps of a seed.
///   - stores: Registers the stores with the dispatcher of a new world.
///   - check: Called after the last dispatch, for each seed. It fails by throwing.
/// - Throws: The first `ReplayDifference`, a `ReplayError`, or an `ExplorationFailure`, which names the seed.
/// - Precondition: There are seeds.
public func explore(
  log: DispatchLog, decoding coder: ActionCoder, seeds: Range<UInt64>, stepLimit: Int = 1_000_000,
  stores: @escaping @Sendable (Dispatcher) async throws -> Void,
  check: @escaping @Sendable (Dispatcher) async throws -> Void
) async throws {
  let plan = try ReplayPlan(log, decoding: coder)
  try await check(replay(log, decoding: coder, stores: stores))
  try await explore(seeds: seeds, stepLimit: stepLimit) { dispatcher in
    try await stores(dispatcher)
    let handles = plan.roots.map { root in
      let lanes = root.entry.lanes
      return root.run(at: dispatcher, mode: lanes.isEmpty ? .async : .serial(lanes: lanes))
    }
    for handle in handles { await handle.settled }
    try await check(dispatcher)
  }
}

extension ReplayPlan.Root {
  fileprivate func run(at dispatcher: Dispatcher, mode: Dispatcher.Mode) -> DispatchHandle {
    if entry.kind == .sequence { return dispatcher.dispatch(actions: actions, mode: mode) }
    return dispatcher.dispatch(any: actions[0], to: target(at: dispatcher), mode: mode)
  }
}

extension ReplayPlan.Root {
  /// The only store of the dispatch: others that answer the action may not have been asked.
  private func target(at dispatcher: Dispatcher) -> String? {
    guard entry.stores.count == 1, let store = entry.stores.first?.store else { return nil }
    return dispatcher.stores.contains { $0.identifier == store } ? store : nil
  }
}

extension Dispatcher {
  /// Dispatches an action whose type is known at run time only.
  fileprivate func dispatch(
    any action: AnyAction, to store: String?, mode: Mode
  ) -> DispatchHandle {
    func open<Action: ActionType>(_ action: Action) -> DispatchHandle {
      dispatch(
        action, to: store, mode: mode, then: nil as (@Sendable (DispatchResult) -> Void)?)
    }
    return open(action)
  }
}
