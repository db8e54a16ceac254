public import DispatchStore

/// Runs a recorded log through the real stores once more, in its own order.
///
/// It sends each dispatch of the log that no handler has made, once nothing is under way. They come in the order of their
/// ends, except that a dispatch comes after those that had committed to the same store before it. Handlers make theirs
/// again. Dispatches of hooks, observers, completions and effects are sent after the dispatch that they followed, unless
/// one that `stores` registers has made them already. Dispatches that were cancelled or timed out before they began are
/// left out. Then the changes of each store are compared with the recorded ones, so a reducer that reads the date or
/// draws a number is found. So is the outcome in each store of the actions that it has sent: an action that failed must
/// fail again.
///
/// If a dispatch of a hook or an observer waits for a later action of the log, the replay doesn't end. A dispatch that a
/// handler makes with a delay may run twice: the replay sends it, and so does the handler. So may one of a closure that
/// a handler gives to `whenEnded`, or as completion of a dispatch that the log doesn't have: a repeat by an idempotency
/// key, or one that was refused or skipped.
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
/// - Throws: The first `ReplayDifference`, a `ReplayError` if the log can't be replayed, or a `CancellationError` if the
///   task is cancelled.
@discardableResult
public func replay(
  _ log: DispatchLog, decoding coder: ActionCoder, stores: (Dispatcher) async throws -> Void
) async throws -> Dispatcher {
  try await replay(ReplayPlan(log, decoding: coder), of: log, coder, stores: stores).dispatcher
}

/// Returns the dispatcher, and the dispatches that were sent, since the stores did not make them.
private func replay(
  _ plan: ReplayPlan, of log: DispatchLog, _ coder: ActionCoder,
  stores: (Dispatcher) async throws -> Void
) async throws -> (dispatcher: Dispatcher, sent: [ReplayPlan.Root]) {
  let dispatcher = Dispatcher(name: "replay of \(log.dispatcher)")
  // Registered first, so that it counts a dispatch until all other hooks have run.
  let progress = ReplayProgress(of: dispatcher)
  try await stores(dispatcher)
  let recorder = DispatchRecorder(limit: .max, actions: coder)
  dispatcher.register(middleware: recorder)
  var twins = ReplayTwins(of: log, decoding: coder)
  var (sent, position) = ([ReplayPlan.Root](), 0)
  var numbers: [UInt64: UInt64] = [:]
  // The roots that stores have made, by the root that has made them.
  var madeBy: [UInt64: UInt64] = [:]
  let hasCauses = plan.roots.contains { $0.cause != nil }
  for var root in plan.roots {
    root.cause = root.cause.map { madeBy[$0] ?? $0 }
    if let cause = root.cause, let id = root.entry.id, twins.twin(of: id) != nil {
      madeBy[id] = cause
      continue
    }
    if let failure = root.failure { throw failure }
    let handle = root.run(at: dispatcher, mode: .async)
    await handle.settled()
    await progress.recorder.idle(at: dispatcher)
    // Then the wait may have ended early, and what goes on would be taken for a difference.
    try Task.checkCancellation()
    sent.append(root)
    if let id = root.entry.id { numbers[id] = handle.dispatchID.number }
    if !hasCauses { continue }
    let ended = recorder.log(after: position, atMost: .max)
    twins.note(handle.dispatchID.number, of: root.entry.id, ended.log.entries)
    position = ended.position
  }
  let comparison = ReplayComparison(log, recorder.log, sent: numbers)
  if let difference = comparison.first { throw difference }
  return (dispatcher, sent)
}

/// Runs a recorded log in its own order, as `replay` does, and then in orders drawn from seeds.
///
/// In a drawn order, dispatches that had lanes and that no other one made keep their order in each. All others may come
/// in any order, and may overlap. Dispatches of hooks, observers, completions and effects are sent at the end of the
/// dispatch that they followed, and wait for those that are in their lanes by then. Use it to find out if last night's
/// actions would have broken the stores in another order.
///
/// - Parameters:
///   - log: The log, from the first action on.
///   - coder: The types of the log's actions.
///   - seeds: The seeds from which the orders are drawn.
///   - stepLimit: The maximum number of steps of a seed.
///   - stores: Registers the stores with the dispatcher of a new world.
///   - check: Called after the last dispatch, in the recorded order and for each seed. It fails by throwing.
///   - fileID: The caller's file, for what is written to standard error.
///   - line: The caller's line.
/// - Throws: The first `ReplayDifference`, a `ReplayError`, what `check` throws in the recorded order, an
///   `ExplorationFailure`, which names the seed, or a `CancellationError` if the task is cancelled in the recorded order.
/// - Precondition: There are seeds.
public func explore(
  log: DispatchLog, decoding coder: ActionCoder, seeds: Range<UInt64>, stepLimit: Int = 1_000_000,
  stores: @escaping @Sendable (Dispatcher) async throws -> Void,
  check: @escaping @Sendable (Dispatcher) async throws -> Void,
  fileID: StaticString = #fileID, line: UInt = #line
) async throws {
  let plan = try ReplayPlan(log, decoding: coder)
  let (dispatcher, sent) = try await replay(plan, of: log, coder, stores: stores)
  try await check(dispatcher)
  let known = Set(sent.compactMap(\.entry.id))
  let followers = Dictionary(grouping: sent) { root in
    root.cause.flatMap { known.contains($0) ? $0 : nil }
  }
  @Sendable func scenario(_ dispatcher: Dispatcher) async throws {
    let progress = ReplayProgress(of: dispatcher)
    try await stores(dispatcher)
    let handles = (followers[nil] ?? []).map { $0.runInLanes(at: dispatcher, followers) }
    for handle in handles { await handle.settled() }
    await progress.recorder.idle(at: dispatcher)
    try await check(dispatcher)
  }
  try await explore(seeds: seeds, stepLimit: stepLimit, scenario, fileID: fileID, line: line)
}

/// Awaits a dispatcher's idleness, without hooks by store, so that stores run as if there were no middleware.
private final class ReplayProgress: Middleware {
  let recorder = RecorderMiddleware()
  var hooks: MiddlewareHooks { .dispatches }

  /// Makes one that is registered.
  init(of dispatcher: Dispatcher) {
    dispatcher.followContinuations()
    dispatcher.register(middleware: self)
  }

  func dispatchWillBegin(_ dispatch: DispatchInfo) { recorder.dispatchWillBegin(dispatch) }

  func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {
    recorder.dispatchDidEnd(dispatch, result: result)
  }
}

extension ReplayPlan.Root {
  fileprivate func run(
    at dispatcher: Dispatcher, mode: Dispatcher.Mode, then completion: (@Sendable () -> Void)? = nil
  ) -> DispatchHandle {
    // Others that answer the actions may not have been asked.
    let target = store.flatMap { dispatcher.store(with: $0)?.identifier }
    if entry.kind == .sequence {
      return dispatcher.dispatch(
        storeIdentifier: target, actions: actions, mode: mode, then: completion)
    }
    return dispatcher.dispatch(any: actions[0], to: target, mode: mode, then: completion)
  }

  /// Runs it in the lanes that it had, and at its end those that followed, by the number of the one that they followed.
  @discardableResult
  fileprivate func runInLanes(
    at dispatcher: Dispatcher, _ followers: [UInt64?: [Self]]
  ) -> DispatchHandle {
    let mode = entry.lanes.isEmpty ? Dispatcher.Mode.async : .serial(lanes: entry.lanes)
    guard entry.id != nil, let next = followers[entry.id] else {
      return run(at: dispatcher, mode: mode)
    }
    return run(at: dispatcher, mode: mode) {
      for root in next { root.runInLanes(at: dispatcher, followers) }
    }
  }
}

extension Dispatcher {
  /// Dispatches an action whose type is known at run time only.
  fileprivate func dispatch(
    any action: AnyAction, to store: String?, mode: Mode, then completion: (@Sendable () -> Void)?
  ) -> DispatchHandle {
    func open<Action: ActionType>(_ action: Action) -> DispatchHandle {
      dispatch(storeIdentifier: store, action: action, mode: mode, then: completion)
    }
    return open(action)
  }
}
