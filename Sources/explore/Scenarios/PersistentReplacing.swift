import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Tasks register persistent stores under one identifier and unregister them, while others dispatch to them.
  static let persistentReplacing = Scenario(
    name: "persistent-replacing",
    summary: "what a store has acknowledged is found by the next store of its identifier"
  ) { dispatcher, simulation in
    let database = MemoryDatabase()
    dispatcher.onWarning { _ in }
    let persistence = try await database.open(for: dispatcher)
    let (results, faults) = (Shared([Int: DispatchResult]()), Shared([String]()))
    let plans = (1...9).map { LedgerPlan($0, simulation) }
    async let owners: [Void] = concurrently(1...2) { owner in
      for round in 1...2 {
        await dispatcher.replace(.ledger(), of: owner, entering: 100 * owner + round, faults)
      }
    }
    await concurrently(plans) { results[$0.number] = await $0.run(by: dispatcher) }
    _ = await owners
    try check(faults.now.isEmpty, "\(faults.now)")
    await dispatcher.drain()
    try await persistence.flush()
    // Read from the database, since a model may have more than that.
    database.crash()
    let next = simulation.makeDispatcher(name: "next")
    try await database.open(for: next)
    let ledger = try await next.register(store: .ledger(), persisted: .model)
    let entries = ledger.model.entries
    try check(Set(entries).count == entries.count, "\(entries): one is there twice")
    for (number, result) in results.now where result.isSuccess && result.hasResponders {
      try check(
        entries.contains(number), "\(number) was acknowledged, and only \(entries) is there")
    }
  }
}

private struct Enter: ActionType { let number: Int }
private struct EnterSlowly: ActionType { let number: Int }

private struct Ledger: ModelType, Codable { var entries: [Int] = [] }

private typealias LedgerStore = Store<Ledger, HandledAction>

extension Store where Model == Ledger, Action == HandledAction {
  fileprivate static func ledger() -> LedgerStore {
    Store(identifier: "ledger", model: Ledger()) {
      On(Enter.self) { ledger, enter in ledger.entries.append(enter.number) }
      Perform(EnterSlowly.self) { enter, context in
        await Task.yield()
        try context.updateModel { $0.entries.append(enter.number) }
      }
    }
  }
}

extension Dispatcher {
  /// Registers a store, unless another one is registered, and unregisters it after a while.
  fileprivate func replace(
    _ store: LedgerStore, of owner: Int, entering number: Int, _ faults: Shared<[String]>
  ) async {
    do {
      try await register(store: store, persisted: .model)
    } catch let error as PersistenceError where error.code == .alreadyRegistered {
      return
    } catch {
      return faults.note("\(owner): \(error)")
    }
    if self.store(with: "ledger") !== store {
      faults.note("\(owner): another store is registered than the one of the call")
    }
    if let error = await store.send(Enter(number: number)).result.error {
      faults.note("\(owner): a store that is registered refuses: \(error)")
    }
    unregister(store: store)
  }
}

/// A dispatch, as it was drawn.
private struct LedgerPlan: Sendable {
  let number: Int
  let mode: Dispatcher.Mode
  let isSlow: Bool
  let isSent: Bool
  let isKeyed: Bool

  init(_ number: Int, _ simulation: SimulationControl) {
    self.number = number
    let drawn = simulation.draw(below: 4)
    mode = [.async, .serial, .serial(lane: 1), .sync][drawn]
    isSlow = simulation.draw(below: 3) == 0
    // `.sync` can't be sent.
    isSent = drawn < 3 && simulation.draw(below: 2) == 0
    isKeyed = simulation.draw(below: 4) == 0
  }

  func run(by dispatcher: Dispatcher) async -> DispatchResult {
    if isSlow { return await run(EnterSlowly(number: number), by: dispatcher) }
    return await run(Enter(number: number), by: dispatcher)
  }

  private func run(_ action: some ActionType, by dispatcher: Dispatcher) async -> DispatchResult {
    await dispatcher.result(
      of: action, mode: mode, options: isKeyed ? .idempotencyKey("\(number)") : [], isSent: isSent)
  }
}
