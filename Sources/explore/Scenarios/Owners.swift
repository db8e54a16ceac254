import DispatchStore
import DispatchStoreTesting
import Foundation

#if SIMULATION
  import DispatchStorePersistence
#endif

extension Scenario {
  /// Processes that compete for one partition of a PostgreSQL server.
  static let owners = Scenario(
    name: "owners",
    summary: "of several processes one writes, and nothing acknowledged is lost, whatever breaks"
  ) { dispatcher, simulation in
    #if SIMULATION
      let server = SimulatedServer(simulation, longestStall: lease * 2)
      server.stalls = [0, 0, 0, 30][simulation.draw(below: 4)]
      let log = OwnerLog()
      try await withThrowingTaskGroup { group in
        let troubles = SimulatedProcess.Troubles(
          cuts: [0, 0, 20, 8][simulation.draw(below: 4)],
          pauses: [0, 0, 20, 8][simulation.draw(below: 4)], pause: lease * 3)
        for number in 1...2 + simulation.draw(below: 2) {
          let process = SimulatedProcess(number, server, troubles)
          group.addTask { try await OwnerProcess(process, server, log, simulation).live() }
        }
        if simulation.draw(below: 3) == 0 { group.addTask { try await trouble(server) } }
        try await group.waitForAll()
      }
      server.stalls = 0
      try check(log.faults.now + server.faults == [], "\(log.faults.now + server.faults)")
      try await checkWhatIsSaved(server, log)
    #endif
  }
}

#if SIMULATION
  private let lease = Duration.seconds(2)

  /// Crashes the server, or restores an earlier state of its database.
  private func trouble(_ server: SimulatedServer) async throws {
    for _ in 0...server.simulation.draw(below: 2) {
      try await server.simulation.delay(upTo: lease * 3)
      let pause = lease * server.simulation.draw(below: 20) / 10
      switch server.simulation.draw(below: 2) {
      case 0: server.crash(downFor: pause)
      default: server.goBack(by: server.simulation.draw(below: 8), downFor: pause)
      }
      try await server.simulation.clock.sleep(for: pause)
    }
  }

  /// Opens the partition in a last process, and compares what it loads with what the others were told.
  private func checkWhatIsSaved(_ server: SimulatedServer, _ log: OwnerLog) async throws {
    let simulation = server.simulation
    let last = OwnerProcess(SimulatedProcess(9, server), server, log, simulation)
    let began = server.now
    guard let safe = await last.open() else {
      throw Broken(description: "the last process can't open the partition: \(log.faults.now)")
    }
    // The lease of a process that has crashed, the wait for its open transaction, and pauses between two attempts.
    try check(
      server.now - began <= lease + .milliseconds(1_500), "it has waited for \(server.now - began)")
    let model = safe.store.model
    try check(Set(model.log).count == model.log.count, "something was done twice: \(model.log)")
    let ledger = server.saved.ledger
    try check(
      Set(ledger).count == ledger.count && Set(ledger).isSubset(of: model.log)
        && log.early.now.isSuperset(of: Set(model.log).subtracting(ledger)),
      "\(model.log) was done, and projected as \(ledger)")
    try check(
      model.all.dictionary.keys.sorted() == model.log.sorted(),
      "\(model.log) was done, and the elements are \(model.all.dictionary.keys.sorted())")
    for number in log.acknowledged.now where !server.lost.contains(number) {
      try check(model.log.contains(number), "\(number) was acknowledged, and is lost: \(model.log)")
    }
    for number in log.refused.now {
      try check(!model.log.contains(number), "\(number) was refused, and is there: \(model.log)")
    }
    try await safe.persistence.close()
  }

  private struct Deposit: ActionType { let number: Int }

  private struct Deposits: ModelType, Codable {
    /// The elements have rows of their own, and the order has not.
    var all = TrackedDictionary<Int, Int>()
    var log: [Int] = []

    mutating func add(_ number: Int) {
      log.append(number)
      all[number] = number
    }
  }

  /// The answers of the processes to the world.
  private final class OwnerLog: Sendable {
    let acknowledged = Shared([Int]())
    /// The dispatches of which it was said that they are not saved.
    let refused = Shared([Int]())
    /// The dispatches that came before their process was ready, perhaps before its projection was.
    let early = Shared(Set<Int>())
    let faults = Shared([String]())
    private let lastNumber = Shared(0)

    func nextNumber() -> Int { lastNumber.add(1) }
  }

  /// A process of a service that owns the partition at times.
  private final class OwnerProcess: Sendable {
    private let process: SimulatedProcess
    private let server: SimulatedServer
    private let log: OwnerLog
    private let simulation: SimulationControl

    struct Safe {
      let persistence: Persistence
      let store: Store<Deposits, HandledAction>
      let dispatcher: Dispatcher
    }

    init(
      _ process: SimulatedProcess, _ server: SimulatedServer, _ log: OwnerLog,
      _ simulation: SimulationControl
    ) {
      (self.process, self.server, self.log, self.simulation) = (process, server, log, simulation)
    }

    /// Serves once or twice, until it has done its work, is replaced, or crashes.
    func live() async throws {
      for _ in 0...simulation.draw(below: 2) where !process.hasCrashed {
        try await simulation.delay(upTo: lease)
        if let safe = await open() { try await serve(safe) }
      }
    }

    // MARK: Opening

    /// Opens the partition, and loads the store; nil if that fails for good.
    func open() async -> Safe? {
      for _ in 0..<100 where !process.hasCrashed {
        do {
          return try await openOnce()
        } catch let error as PersistenceError {
          note(error, since: 0)
          try? await simulation.delay(upTo: .milliseconds(500))
        } catch {
          log.faults.note("\(error)")
        }
      }
      return nil
    }

    private func openOnce() async throws -> Safe {
      let dispatcher = simulation.makeDispatcher(name: "process \(process.number)")
      dispatcher.onWarning { _ in }
      let driver = PostgreSQLDriver(
        process, PostgreSQLPlace(partition: "main"), lease: lease,
        waits: simulation.draw(below: 4) > 0)
      let persistence = try await Persistence(PersistenceDatabase { driver }, inWorldOf: dispatcher)
      dispatcher.attach(persistence)
      let store = Store<Deposits, HandledAction>(identifier: "deposits", model: Deposits()) {
        On(Deposit.self) { deposits, deposit in deposits.add(deposit.number) }
      }
      let isLoading = Shared(true)
      async let early: Void = send(to: dispatcher, persistence, while: isLoading)
      do {
        try await dispatcher.register(store: store, persisted: .elements(\.all))
        isLoading.with { $0 = false }
      } catch {
        try? await persistence.close()
        throw error
      }
      persistence.project(store) { changes, transaction in
        for (key, _, new) in changes.elements(\.all) ?? [] where new != nil {
          try transaction.execute("INSERT INTO ledger (number) VALUES (?)", key)
        }
      }
      await early
      return Safe(persistence: persistence, store: store, dispatcher: dispatcher)
    }

    /// Sends a request that perhaps comes too early.
    private func send(
      to dispatcher: Dispatcher, _ persistence: Persistence, while isLoading: Shared<Bool>
    ) async {
      let number = log.nextNumber()
      log.early.with { _ = $0.insert(number) }
      let result = await dispatcher.send(Deposit(number: number)).result
      guard result.hasResponders else { return }
      if isLoading.now { log.faults.note("\(number) was served before loading ended") }
      note(result, of: number, persistence)
    }

    // MARK: Serving

    private func serve(_ safe: Safe) async throws {
      if simulation.draw(below: 4) == 0 {
        let (isKnown, closes) = (simulation.draw(below: 2) == 0, simulation.draw(below: 2) == 0)
        simulation.startTask {
          try? await self.simulation.delay(upTo: lease)
          self.process.crash(isKnown: isKnown, closes: closes)
        }
      }
      await withTaskGroup { group in
        for _ in 0..<2 + simulation.draw(below: 3) {
          let number = log.nextNumber()
          let pause = lease * simulation.draw(below: 100) / 100
          group.addTask {
            try? await self.simulation.clock.sleep(for: pause)
            let result = await safe.dispatcher.send(Deposit(number: number)).result
            self.note(result, of: number, safe.persistence)
          }
        }
      }
      await close(safe)
    }

    /// Ends orderly: what was committed before is saved.
    private func close(_ safe: Safe) async {
      let number = log.nextNumber()
      // Nobody waits for it but `close()`.
      safe.store.updateModel { $0.add(number) }
      do {
        try await safe.persistence.close()
        acknowledge(number)
      } catch {
        note(error as! PersistenceError, since: safe.persistence.status.epoch)
      }
    }

    private func acknowledge(_ number: Int) {
      if !process.hasCrashed { log.acknowledged.append(number) }
    }

    private func note(_ result: DispatchResult, of number: Int, _ persistence: Persistence) {
      if result.isSuccess { return acknowledge(number) }
      guard let error = result.dispatchError?.cause as? PersistenceError else {
        return log.faults.note("\(number) ended as \(result)")
      }
      note(error, since: persistence.status.epoch)
      if error.isOutcomeKnown, !process.hasCrashed { log.refused.append(number) }
    }

    /// Checks that an error of the database has its reason.
    ///
    /// - Parameter epoch: The epoch of the process; zero while it opens.
    private func note(_ error: PersistenceError, since epoch: Int64) {
      if process.hasCrashed { return }
      let isReasonable =
        switch error.code {
        case .notOwner: server.highestEpoch > epoch
        case .journalWentBack: server.hasGoneBack
        case .inUse, .cannotOpen, .busy: epoch == 0
        default: false
        }
      if !isReasonable { log.faults.note("process \(process.number), epoch \(epoch): \(error)") }
    }
  }
#endif
