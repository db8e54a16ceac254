import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Dispatches with exclusion keys in all modes, from threads and tasks, nested and not, some of which are cancelled,
  /// time out, or wait for a condition.
  static let exclusion = Scenario(
    name: "exclusion", summary: "no two dispatches of a key overlap, and each of them ends"
  ) { dispatcher, simulation in
    let (keys, refusals) = (Holders<String>(), Shared([DispatchResult]()))
    dispatcher.makeClaims(keys, refusals)
    let level = dispatcher.makePlainJournal("level")
    let results = Shared([DispatchResult]())
    // If nested dispatches need later keys only, and no lane, there is no ring to be refused.
    let isOrdered = simulation.draw(below: 2) == 0
    let claims = (1...7).map { Claim($0, isOrdered: isOrdered, simulation) }
    let modes: [Dispatcher.Mode] = [
      .async, .serial(lane: "x"), .serial(lane: "y"), .mainThread, .serial,
    ]
    await withTaskGroup { group in
      for claim in claims {
        let (draw, options) = (simulation.draw(below: 12), claim.options(onceIn: level))
        // In one lane, one that waits for a key would be before one for which the key's holder waits.
        let mode = isOrdered ? .serial(lane: claim.number) : modes[draw % 5]
        group.addTask {
          switch draw % 4 {
          case 0 where mode != .mainThread, 1 where mode != .mainThread:
            results.append(await dispatcher.send(claim, mode: mode, options: options).result)
          default:
            let handle = dispatcher.dispatch(action: claim, mode: mode, options: options)
            if !isOrdered, draw % 3 == 0 { simulation.startThread { handle.cancel() } }
            results.append(await handle.result)
          }
        }
      }
      for mode in [Dispatcher.Mode.async, .sync] {
        simulation.startThread { level.dispatch(.note(1), mode: mode) }
      }
      group.addTask {
        // On a thread that is none of the system's for tasks.
        await withUnsafeContinuation { continuation in
          simulation.startThread {
            let claim = Claim(number: 8, keys: ["a", "c"])
            let handle = dispatcher.dispatch(action: claim, mode: .sync, options: claim.options)
            results.append(handle.resultIfEnded!)
            continuation.resume()
          }
        }
      }
      if !isOrdered {
        group.addTask {
          await dispatcher.cancelAtSomeTime {
            let claim = Claim(number: 9, keys: ["b", "c"])
            await dispatcher.send(claim, options: claim.options)
          }
        }
      }
    }
    try check(results.now.count == 8, "\(results.now.count) of 8 have ended")
    let refused = results.now.filter(\.isRefused) + refusals.now
    if isOrdered {
      try check(refused.isEmpty, "\(refused.map { "\($0.error!)" }) is no ring")
      for result in results.now { try check(result.isSuccess, "\(result)") }
    }
    // Each key is free again: none was lost.
    let last = Claim(number: 100, keys: ["a", "b", "c"])
    let result = await dispatcher.send(last, options: last.options)
    try check(result.isSuccess, "\(result)")
    try check(keys.faults.now.isEmpty, "\(keys.faults.now)")
  }
}

/// Work that needs keys.
private struct Claim: ActionType {
  enum How: CaseIterable {
    case sends, awaits, runs, dispatches
  }

  /// The dispatches of its block.
  struct Inner {
    let how: How
    let keys: [String]
  }

  let number: Int
  let keys: [String]
  /// How many commits of another store it waits for.
  var level = 0
  var timesOut = false
  var isSlow = false
  var inner: Inner?

  var options: DispatchOptions {
    keys.reduce([]) { [$0, .exclusive($1)] }
  }

  func options(onceIn store: JournalStore) -> DispatchOptions {
    let condition: DispatchOptions =
      level > 0 ? .when(store) { [level] in $0.entries.count >= level } : []
    return [options, condition, timesOut ? .timeout(.seconds(1)) : []]
  }
}

extension Claim {
  /// - Parameter isOrdered: Whether nested dispatches need later keys only.
  fileprivate init(_ number: Int, isOrdered: Bool, _ simulation: SimulationControl) {
    let names = isOrdered ? ["a", "b"] : ["a", "b", "c"]
    let drawn = names.filter { _ in simulation.draw(below: 3) > 0 }
    self.init(number: number, keys: drawn.isEmpty ? ["b"] : drawn)
    isSlow = simulation.draw(below: 2) == 0
    if simulation.draw(below: 2) == 0 {
      inner = Inner(
        how: isOrdered ? .sends : How.allCases[simulation.draw(below: 4)],
        keys: [isOrdered ? "c" : names[simulation.draw(below: 3)]])
      isSlow = true
    }
    if simulation.draw(below: 3) == 0 { level = simulation.draw(below: 4) == 0 ? 1 : 2 }
    timesOut = !isOrdered && simulation.draw(below: 4) == 0
  }
}

extension Store where Model == Journal, Action == Claim {
  fileprivate var level: Int {
    (dispatcher?.store(with: "level") as? JournalStore)?.model.entries.count ?? 0
  }
}

extension Dispatcher {
  fileprivate func makeClaims(_ keys: Holders<String>, _ refusals: Shared<[DispatchResult]>) {
    @Sendable func begin(_ claim: Claim, at level: Int) {
      keys.note(claim.number, in: claim.keys)
      if level < claim.level { keys.faults.note("\(claim.number) began at \(level)") }
    }
    makeStore("claims", of: Claim.self) { action, store in
      guard action.isSlow else {
        return ActionOperation(action: action, store: store) { claim, store in
          begin(claim, at: store.level)
          store.updateModel { $0.entries.append(claim.number) }
          keys.note(-claim.number, in: claim.keys)
        }
      }
      return ActionOperation(action: action, store: store) { claim, store async in
        begin(claim, at: store.level)
        defer { keys.note(-claim.number, in: claim.keys) }
        await Task.yield()
        store.updateModel { $0.entries.append(claim.number) }
        if let inner = claim.inner, let dispatcher = store.dispatcher {
          let nested = Claim(number: claim.number * 10, keys: inner.keys)
          if let result = await dispatcher.nest(nested, inner.how), result.isRefused {
            refusals.append(result)
          }
        }
      }
    }
  }

  /// Returns the result, if the block waits for it.
  fileprivate func nest(_ claim: Claim, _ how: Claim.How) async -> DispatchResult? {
    switch how {
    case .sends: return await send(claim, options: claim.options).result
    case .awaits: return await dispatch(action: claim, options: claim.options).result
    case .runs:
      return dispatch(action: claim, mode: .sync, options: claim.options).resultIfEnded
    case .dispatches:
      dispatch(action: claim, options: claim.options)
      return nil
    }
  }
}
