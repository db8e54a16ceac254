import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Dispatches to persistent stores in every mode, while the database is busy or full at times.
  static let saving = Scenario(
    name: "saving", summary: "a dispatch ends once what it has committed or read is saved"
  ) { dispatcher, simulation in
    let vault = try await Vault(dispatcher, MemoryDatabase())
    for _ in 0..<simulation.draw(below: 3) {
      vault.database.fail(
        simulation.draw(below: 2) == 0 ? .busy : .full, afterSteps: simulation.draw(below: 20),
        count: 1 + simulation.draw(below: 2))
    }
    let plans = (1...12).map { VaultPlan($0, simulation) }
    await vault.run(plans)
    try await vault.persistence.flush()
    try check(vault.faults.now.isEmpty, "\(vault.faults.now)")
    for plan in plans {
      let result = vault.results[plan.number]!
      try check(
        result.isSuccess || plan.mayEndEarly || plan.isLimited, "\(plan) ended as \(result)")
    }
    try vault.checkOutcomes(of: plans)
    for lane in [0, 1] {
      let (begun, ended) = (vault.begun[lane] ?? [], vault.ended[lane] ?? [])
      try check(begun == ended, "lane \(lane) has begun \(begun), and ended \(ended)")
    }
    for store in vault.stores {
      let saved = try vault.saved(store.identifier)
      try check(saved == store.model.plain, "\(store.model.plain) is saved as \(saved)")
      let version = vault.database.version(ofStore: store.identifier)
      try check(version == store.version, "version \(store.version) is saved as \(version!)")
    }
  }

  /// Dispatches to persistent stores until writing fails, or the process crashes, and starts again.
  static let failedSaving = Scenario(
    name: "failed-saving", summary: "what was acknowledged survives, and nothing that was refused"
  ) { dispatcher, simulation in
    let database = MemoryDatabase()
    let vault = try await Vault(dispatcher, database)
    var isOvercome = false
    let faults: [MemoryDatabase.Fault] = [.inputOutput, .commitUnknown, .crash]
    let steps = simulation.draw(below: 40)
    // A second owner, while this process was thought to be dead, or a fault.
    let isFenced = simulation.draw(below: 4) == 0
    let isOver = Shared(false)
    if isFenced {
      simulation.startThread { if !isOver.now { database.becomeOwned() } }
    } else if simulation.draw(below: 2) == 0 {
      database.fail(faults[simulation.draw(below: 3)], afterSteps: steps)
    } else {
      // The step of a commit, whichever it is.
      let drawn = simulation.draw(below: 3)
      isOvercome = drawn == 1
      database.failAtCommit(faults[drawn], number: simulation.draw(below: 4))
    }
    let plans = (1...12).map { VaultPlan($0, simulation) }
    await vault.run(plans)
    try vault.checkOutcomes(of: plans)
    try check(vault.faults.now.isEmpty, "\(vault.faults.now)")
    for plan in plans where isOvercome && !plan.mayEndEarly && !plan.isLimited {
      let result = vault.results[plan.number]!
      try check(result.isSuccess, "\(plan) was committed, and ended as \(result)")
    }
    isOver.with { $0 = true }
    database.removeFaults()
    database.crash()
    let next = try await Vault(simulation.makeDispatcher(name: "next"), database)
    for (former, store) in zip(vault.stores, next.stores) {
      let promised = vault.promised[store.identifier] ?? 0
      try check(
        store.version >= promised, "version \(promised) was read, \(store.version) is there")
      let (before, after) = (former.model.plain.log, store.model.plain.log)
      try check(
        before.starts(with: after), "\(store.identifier) was \(before), and became \(after)")
      let state = vault.history[store.identifier]?[store.version]
      try check(
        store.version == 0 || state == store.model.plain,
        "version \(store.version) of \(store.identifier) is \(store.model.plain), not \(state!)")
      for plan in plans where plan.isPut && plan.identifiers.contains(store.identifier) {
        let result = vault.results[plan.number]!
        let isThere = after.contains(plan.number)
        try check(
          !result.isSuccess || plan.isInMemory || isThere, "\(plan) is lost: \(after)")
        let cause = result.dispatchError?.cause as? PersistenceError
        // The error may be that of the other store, which was refused after this one's commit was saved.
        let isOfOther =
          result[store].isFinished
          && plan.identifiers.contains { !result[$0].isFinished }
        try check(
          cause?.isOutcomeKnown != true || !isThere || plan.kind == .sequence || isOfOther,
          "\(plan) is there, and was refused: \(result)")
      }
    }
    for plan in plans where plan.kind == .atomic {
      let places = next.stores.filter { $0.model.log.contains(plan.number) }
      try check(
        places.isEmpty || places.count == 2 && !plan.fails, "\(plan) is in \(places.count) stores")
    }
    let result = await next.dispatcher.send(Put(number: 100)).result
    try check(result.isSuccess, "After the restart: \(result)")
  }
}

/// A model with elements that are rows, and the numbers of its actions, which are not.
private struct Safe: ModelType, Codable {
  var all = TrackedDictionary<Int, Int>()
  var log: [Int] = []

  var plain: Plain { Plain(all: all.dictionary, log: log) }

  struct Plain: Equatable { var all: [Int: Int], log: [Int] }
}

private struct Put: ActionType { let number: Int }
private struct PutSlowly: ActionType { let number: Int }
private struct PutAtomically: AtomicAction {
  let number: Int
  let fails: Bool
}

private struct Look: ActionType {
  typealias Reply = [Int]
  let number: Int
}

/// A dispatch, as it was drawn.
private struct VaultPlan: Sendable, CustomStringConvertible {
  enum Kind { case put, putSlowly, look, sequence, atomic }

  let number: Int
  let kind: Kind
  let mode: Dispatcher.Mode
  let lanes: [Int]
  let isSent: Bool
  let identifier: String?
  let isInMemory: Bool
  let hasDeadline: Bool
  let isCancelled: Bool
  let isLimited: Bool
  /// Whether it has an idempotency key, whose row is saved with its last commit.
  let isKeyed: Bool
  /// Whether the reduction of its last store throws.
  let fails: Bool

  init(_ number: Int, _ simulation: SimulationControl) {
    self.number = number
    kind = [.put, .put, .putSlowly, .look, .sequence, .atomic, .atomic][simulation.draw(below: 7)]
    let modes: [(Dispatcher.Mode, [Int])] = [
      (.async, []), (.sync, []), (.mainThread, []), (.serial(lane: 0), [0]),
      (.serial(lane: 1), [1]), (.serial(lanes: [0, 1]), [0, 1]),
    ]
    let drawn = simulation.draw(below: modes.count)
    (mode, lanes) = modes[drawn]
    // `.sync` can't be sent, and a task on the main actor is none of the world's.
    isSent = drawn != 1 && drawn != 2 && kind != .sequence && simulation.draw(below: 2) == 0
    identifier = kind == .atomic ? nil : [nil, "a", "b"][simulation.draw(below: 3)]
    fails = kind == .atomic && simulation.draw(below: 3) == 0
    isInMemory = simulation.draw(below: 6) == 0
    hasDeadline = simulation.draw(below: 6) == 0
    isCancelled = simulation.draw(below: 6) == 0
    isLimited = simulation.draw(below: 3) == 0
    isKeyed = simulation.draw(below: 4) == 0
  }

  var isPut: Bool { kind != .look && !fails }
  var identifiers: [String] { identifier.map { [$0] } ?? ["a", "b"] }
  var mayEndEarly: Bool { hasDeadline || isCancelled || fails }

  func options(_ limit: DispatchLimit) -> DispatchOptions {
    var options: DispatchOptions = [.named(number)]
    if isInMemory { options = [options, .durability(.memory)] }
    if hasDeadline { options = [options, .timeout(.milliseconds(1))] }
    if isLimited { options = [options, .limited(by: limit)] }
    if isKeyed { options = [options, .idempotencyKey("\(number)")] }
    return options
  }

  var description: String { "\(number) (\(kind) in \(mode))" }
}

/// Persistent stores, and what was seen of them.
private final class Vault: Sendable {
  typealias SafeStore = Store<Safe, HandledAction>
  let dispatcher: Dispatcher
  let database: MemoryDatabase
  let persistence: Persistence
  let stores: [SafeStore]
  let results = Shared([Int: DispatchResult]())
  /// By lane, in order: the dispatches that have begun, and those that have completed, which can't end early.
  let begun = Shared([Int: [Int]]())
  let ended = Shared([Int: [Int]]())
  /// By store: its states by version.
  let history = Shared([String: [UInt64: Safe.Plain]]())
  /// By store: the versions of the durable observer's changes.
  private let durable = Shared([String: [UInt64]]())
  /// By store: the last version of which an element was read as saved.
  let promised = Shared([String: UInt64]())
  let faults = Shared([String]())
  private let plans = Shared([Int: VaultPlan]())
  /// The limited dispatches that have begun and not completed.
  private let holders = Shared(Set<Int>())
  private let tokens: [ObserverToken]

  init(_ dispatcher: Dispatcher, _ database: MemoryDatabase) async throws {
    (self.dispatcher, self.database) = (dispatcher, database)
    dispatcher.onWarning { _ in }
    persistence = try await database.open(for: dispatcher)
    let (begun, plans, history, holders, faults) = (begun, plans, history, holders, faults)
    let durable = durable
    @Sendable func begin(_ number: Int) {
      guard let plan = plans[number], !plan.mayEndEarly, !plan.isInMemory else { return }
      if plan.isLimited,
        holders.with({
          $0.insert(number); return $0.count > 2
        })
      {
        faults.note("more than two units: \(holders.now)")
      }
      for lane in plan.lanes {
        begun.with {
          if $0[lane]?.contains(number) != true { $0[lane, default: []].append(number) }
        }
      }
    }
    var stores: [SafeStore] = []
    for identifier in ["a", "b"] {
      let store = Vault.makeStore(identifier, begin)
      stores.append(try await dispatcher.register(store: store, persisted: .elements(\.all)))
    }
    self.stores = stores
    tokens = stores.flatMap { store in
      let identifier = store.identifier
      return [
        store.observe(.model) { change in
          history.with { $0[identifier, default: [:]][change.version] = change.value.plain }
        },
        store.observe(.model, when: .durable) { change in
          durable.append(change.version, at: identifier)
        },
      ]
    }
  }

  private static func makeStore(
    _ identifier: String, _ begin: @escaping @Sendable (Int) -> Void
  ) -> SafeStore {
    SafeStore(identifier: identifier, model: Safe()) {
      On(Put.self) { safe, put in
        begin(put.number)
        safe.log.append(put.number)
        safe.all[put.number % 3, default: 0] += put.number
      }
      On(PutAtomically.self) { safe, put in
        begin(put.number)
        safe.log.append(put.number)
        safe.all[put.number % 3] = put.number % 2 == 0 ? nil : put.number
        if put.fails, identifier == "b" { throw Broken(description: "refused") }
      }
      On(Look.self) { safe, look in
        begin(look.number)
        Reduction.unchanged()
        return safe.log
      }
      Perform(PutSlowly.self) { put, context in
        begin(put.number)
        await Task.yield()
        try context.updateModel { safe in
          safe.log.append(put.number)
          safe.all[put.number % 3] = put.number % 2 == 0 ? nil : put.number
        }
      }
    }
  }

  /// Checks that nothing of a store is there that is said not to have started, and the durable observers' order.
  func checkOutcomes(of plans: [VaultPlan]) throws {
    for store in stores {
      let log = store.model.log
      for plan in plans where log.contains(plan.number) {
        guard plan.kind != .sequence,
          case .cancelled(hasStarted: false) = results[plan.number]![store]
        else { continue }
        throw Broken(
          description: "\(plan) is in \(store.identifier): \(results[plan.number]!)")
      }
      let versions = durable[store.identifier] ?? []
      try check(versions == versions.sorted(), "\(store.identifier) was observed as \(versions)")
    }
  }

  /// The saved state of a store.
  func saved(_ identifier: String) throws -> Safe.Plain {
    let row = database.rows(ofStore: identifier, part: 0)[""] ?? "{}"
    var plain = try JSONDecoder().decode(Safe.self, from: Data(row.utf8)).plain
    for (key, value) in database.rows(ofStore: identifier, part: 1) {
      plain.all[Int(key)!] = Int(value)!
    }
    return plain
  }

  func run(_ drawn: [VaultPlan]) async {
    plans.with { $0 = Dictionary(uniqueKeysWithValues: drawn.map { ($0.number, $0) }) }
    let limit = DispatchLimit(2, overflow: .wait)
    async let reader: Void = { for _ in 0..<6 { await self.readSaved() } }()
    await concurrently(0..<3) { part in
      for plan in drawn where plan.number % 3 == part { await self.run(plan, limit) }
    }
    await reader
  }

  /// Reads an element once it is saved, and checks that its last change is.
  private func readSaved() async {
    let simulation = dispatcher.simulation!
    try? await simulation.delay(upTo: .microseconds(50))
    let (store, key) = (stores[simulation.draw(below: 2)], simulation.draw(below: 3))
    let history = history[store.identifier] ?? [:]
    let version = store.version
    let limit: Duration? =
      simulation.draw(below: 3) == 0 ? .microseconds(simulation.draw(below: 100)) : nil
    let isCancelled = simulation.draw(below: 4) == 0
    let isSaved = await withTaskGroup(of: Bool.self) { group in
      group.addTask { (try? await store.savedElement(\.all, key, timeout: limit)) != nil }
      if isCancelled {
        try? await simulation.delay(upTo: .microseconds(20))
        group.cancelAll()
      }
      return await group.next()!
    }
    guard isSaved else { return }
    var changed = version
    while changed > 0, let now = history[changed], now.all[key] == history[changed - 1]?.all[key] {
      changed -= 1
    }
    promised.with { $0[store.identifier] = max($0[store.identifier] ?? 0, changed) }
    let saved = database.version(ofStore: store.identifier) ?? 0
    if saved < changed {
      faults.note("\(key) was read at version \(changed), and \(saved) is saved")
    }
  }

  private func run(_ plan: VaultPlan, _ limit: DispatchLimit) async {
    if plan.isCancelled {
      dispatcher.simulation!.startThread { self.dispatcher.cancel(named: plan.number) }
    }
    let result =
      switch plan.kind {
      case .put: await run(Put(number: plan.number), plan, limit)
      case .putSlowly: await run(PutSlowly(number: plan.number), plan, limit)
      case .atomic: await run(PutAtomically(number: plan.number, fails: plan.fails), plan, limit)
      case .look: await run(Look(number: plan.number), plan, limit)
      case .sequence: await runSequence(plan, limit)
      }
    results[plan.number] = result
  }

  private func run(
    _ action: some ActionType, _ plan: VaultPlan, _ limit: DispatchLimit
  ) async -> DispatchResult {
    await dispatcher.result(
      of: action, to: plan.identifier, mode: plan.mode, options: plan.options(limit),
      isSent: plan.isSent
    ) { self.completed(plan, $0) }
  }

  private func runSequence(_ plan: VaultPlan, _ limit: DispatchLimit) async -> DispatchResult {
    let handle = dispatcher.dispatch(
      storeIdentifier: plan.identifier,
      actions: [Put(number: plan.number), Look(number: plan.number)],
      mode: plan.mode, options: plan.options(limit)
    ) { self.completed(plan, nil) }
    return await handle.result
  }

  /// Checks, in the completion, that everything is saved that the dispatch has put or seen.
  private func completed(_ plan: VaultPlan, _ result: DispatchResult?) {
    if !plan.mayEndEarly, !plan.isInMemory {
      let begun = begun.now
      for lane in plan.lanes where begun[lane]?.contains(plan.number) == true {
        ended.append(plan.number, at: lane)
      }
    }
    holders.with { _ = $0.remove(plan.number) }
    if plan.isInMemory || result?.isSuccess == false { return }
    for identifier in plan.identifiers {
      guard let saved = try? saved(identifier) else { continue }
      let seen = result?.replies(to: Look.self)[identifier] ?? []
      // A sequence says only whether it has ended.
      let needed = plan.isPut && result != nil ? [plan.number] : seen
      if !Set(needed).isSubset(of: saved.log) {
        faults.note("\(plan) has ended, and only \(saved.log) is saved")
      }
    }
  }
}

extension Scenario {
  /// A persistence that is closed while its database is full or locked for a while, and commits keep coming.
  static let closing = Scenario(
    name: "closing", summary: "closing ends in time, and says what is not saved"
  ) { dispatcher, simulation in
    let database = MemoryDatabase()
    let (persistence, store) = try await openSum(dispatcher, database)
    dispatcher.onWarning { _ in }
    let limit: Duration? =
      simulation.draw(below: 4) == 0 ? nil : .milliseconds(simulation.draw(below: 40))
    let fault: MemoryDatabase.Fault = [.full, .busy][simulation.draw(below: 2)]
    var handles = (1...3).map { dispatcher.dispatch(Put(number: $0), mode: .serial) }
    try await simulation.delay(upTo: .microseconds(10))
    if simulation.draw(below: 4) == 0 { for handle in handles { await handle.ended() } }
    database.fail(fault, count: .max / 2)
    if simulation.draw(below: 2) == 0 {
      handles += (4...6).map { dispatcher.dispatch(Put(number: $0), mode: .serial) }
    }
    async let end: Void = {
      try await simulation.clock.sleep(for: .milliseconds(50))
      database.removeFaults()
    }()
    let committed = store.model
    let time = Shared(Duration.zero)
    let error = await withTaskGroup { group -> PersistenceError? in
      group.addTask { () -> PersistenceError? in
        let began = simulation.clock.now.offset
        defer { time.with { $0 = simulation.clock.now.offset - began } }
        do {
          try await persistence.close(timeout: limit)
          return nil
        } catch {
          return error as? PersistenceError
        }
      }
      if simulation.draw(below: 2) == 0 {
        group.addTask {
          try? await simulation.delay(upTo: .milliseconds(30))
          store.updateModel { $0 += 100 }
          return nil
        }
      }
      return await group.reduce(nil) { $0 ?? $1 }
    }
    if let limit {
      try check(time.now <= limit, "closed after \(time.now), not \(limit)")
    }
    try await end
    var acknowledged = 0
    for (number, handle) in handles.enumerated() where await handle.result.isSuccess {
      acknowledged += number + 1
    }
    database.crash()
    let saved = try await openSum(simulation.makeDispatcher(name: "next"), database).store.model
    try check(saved >= acknowledged, "\(acknowledged) was acknowledged, and \(saved) saved")
    try check(
      error?.code == .closed || saved >= committed,
      "closed without a word, with \(committed), and \(saved) saved")
  }
  private static func openSum(
    _ dispatcher: Dispatcher, _ database: MemoryDatabase
  ) async throws -> (persistence: Persistence, store: Store<Int, HandledAction>) {
    let persistence = try await database.open(for: dispatcher)
    let store = try await dispatcher.register(
      store: Store(identifier: "sum", model: 0) { On(Put.self) { $0 += $1.number } },
      persisted: .model)
    return (persistence, store)
  }
}
