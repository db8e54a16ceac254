import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Projections and migrations", .timeLimit(.minutes(10)))
struct ProjectionTests {
  @Test func writeTheirRowsWithTheCommitsThatTheyAreAbout() async throws {
    let stage = try await PersistenceStage()
    stage.persistence.project(stage.wallet) { changes, transaction in
      for (account, old, new) in changes.elements(\.all) ?? [] {
        try transaction.execute("INSERT", account, old, new, changes.commits.count)
      }
    }
    await stage.dispatcher.send(Deposit(account: "a", amount: 1))
    stage.database.fail(.busy, afterSteps: 3)
    await stage.dispatcher.send(Deposit(account: "a", amount: 2))
    await stage.dispatcher.send(Close(account: "a"))
    let expected: [[DatabaseValue]] = [
      ["a", nil, 1, 1], ["a", 1, 3, 1], ["a", 3, nil, 1],
    ]
    #expect(stage.database.statements.map(\.values) == expected)
  }

  @Test(arguments: [false, true])
  func runOnTheThreadThatWaitsForItsReduction(isFollowed: Bool) async throws {
    let (stage, threads) = (try await PersistenceStage(), Recorder<Int>())
    stage.persistence.project(stage.wallet) { _, _ in threads.record(Here.thread) }
    let states = isFollowed ? stage.wallet.stream(.model, buffering: .unbounded) : nil
    let (dispatcher, count) = (stage.dispatcher, 100)
    // The job that has registered the store has ended.
    await withCheckedContinuation { ended in stage.persistence.queue.async { ended.resume() } }
    let own = await onOwnThread {
      for _ in 0..<count { dispatcher.dispatch(Deposit(account: "a", amount: 1), mode: .sync) }
      return Here.thread
    }
    #expect(threads.all == Array(repeating: own, count: count))
    withExtendedLifetime(states) {}
  }

  @Test func runWhileAnObserverOfTheCommitWaitsForThem() async throws {
    let (stage, saved) = (try await PersistenceStage(), DispatchSemaphore(value: 0))
    stage.persistence.project(stage.wallet) { _, _ in saved.signal() }
    let token = stage.wallet.observe(.model) { _ in saved.wait() }
    let dispatcher = stage.dispatcher
    let result = await onOwnThread {
      dispatcher.dispatch(Deposit(account: "a", amount: 1), mode: .sync)
        .resultIfEnded
    }
    #expect(result?.isSuccess == true)
    token.cancel()
  }

  @Test func getTheChangesOfAGroupOnce() async throws {
    let stage = try await PersistenceStage()
    stage.persistence.project(stage.wallet) { changes, transaction in
      let versions = changes.commits.map(\.version)
      for (account, old, new) in changes.elements(\.all) ?? [] {
        try transaction.execute("\(versions)", account, old, new)
      }
      for (account, new) in changes.replacement(of: \.all)?.sorted(by: { $0.key < $1.key }) ?? [] {
        try transaction.execute("replaced", account, new)
      }
    }
    stage.database.hold()
    await stage.dispatcher.send(SetNote(note: "x"), options: .durability(.memory))
    // The first group may be under way, or not.
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await stage.persistence.flush() }
      stage.database.release()
      try await group.waitForAll()
    }
    stage.database.hold()
    for account in ["a", "b", "a"] { stage.wallet.updateModel { $0.all[account, default: 0] += 1 } }
    try await stage.save()
    let all = stage.database.statements
    // The elements' last values, in whatever groups they came.
    #expect(all.last { $0.values[0] == "a" }?.values[2] == 2)
    #expect(all.last { $0.values[0] == "b" }?.values[2] == 1)
    await stage.dispatcher.send(ReplaceAll(all: ["x": 1, "y": 2]))
    #expect(stage.database.statements.suffix(2).map(\.values) == [["x", 1], ["y", 2]])
  }

  @Test func writeTheirRowsAlsoOnceTheirStoreIsRegisteredAgain() async throws {
    let stage = try await PersistenceStage()
    stage.insertElements()
    stage.dispatcher.unregister(store: stage.wallet)
    try await stage.dispatcher.register(store: stage.wallet, persisted: .elements(\.all))
    await stage.dispatcher.send(Deposit(account: "a", amount: 1))
    #expect(stage.database.statements.map(\.values) == [["a", 1]])
  }

  @Test func writeTheirRowsAlsoInTheNextDatabaseOfTheirStore() async throws {
    let stage = try await PersistenceStage()
    stage.insertElements()
    stage.dispatcher.unregister(store: stage.wallet)
    try await stage.persistence.close()
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    try await database.open(for: dispatcher)
    try await dispatcher.register(store: stage.wallet, persisted: .elements(\.all))
    await dispatcher.send(Deposit(account: "a", amount: 1))
    #expect(database.statements.map(\.values) == [["a", 1]])
  }

  @Test func writeWhatIsCommittedBetweenAttemptsToRegisterTheirStoreAgain() async throws {
    let coder = HookedCoder()
    let stage = try await PersistenceStage(coder: coder)
    stage.insertElements()
    stage.dispatcher.unregister(store: stage.wallet)
    try await stage.persistence.delete("wallet")
    // Comes after the begin, the search for the store, and its row: at the model's row.
    stage.database.fail(.busy, afterSteps: 3)
    let wallet = stage.wallet
    coder.hook.withLock { $0 = { wallet.updateModel { $0.all["a"] = 1 } } }
    try await stage.dispatcher.register(store: wallet, persisted: .elements(\.all))
    try await stage.persistence.flush()
    #expect(stage.database.statements.map(\.values) == [["a", 1]])
    #expect(stage.saved == ["a": "1"])
  }

  @Test func thatThrowEndThePersistence() async throws {
    let stage = try await PersistenceStage()
    stage.persistence.project(stage.wallet) { _, _ in throw Refused() }
    let result = await stage.dispatcher.send(Deposit(account: "a", amount: 1)).result
    let cause = result.dispatchError?.cause as? PersistenceError
    #expect(cause?.code == .projection)
    #expect(cause?.cause is Refused)
    #expect(stage.saved.isEmpty)
  }

  @Test func thatCatchAFaultOfTheDatabaseEndThePersistence() async throws {
    let stage = try await PersistenceStage()
    stage.persistence.project(stage.wallet) { _, transaction in
      _ = try? transaction.execute("INSERT")
    }
    // The begin, the store's version, and the row come before the statement.
    stage.database.fail(.inputOutput, afterSteps: 3)
    let result = await stage.dispatcher.send(Deposit(account: "a", amount: 1)).result
    #expect(result.errorCode == .persistenceFailed)
    #expect(stage.saved.isEmpty)
  }

  @Test func migrateRowsOneVersionAfterTheOther() async throws {
    let database = MemoryDatabase()
    let stage = try await PersistenceStage(on: database)
    for account in ["a", "b"] { await stage.dispatcher.send(Deposit(account: account, amount: 1)) }
    database.crash()
    let dispatcher = Dispatcher(name: "bank")
    try await database.open(for: dispatcher)
    let type = PersistedType("wallet", version: 3) { row in
      guard row.part == 1, case .integer(let value) = row.value else { return }
      row.value = .integer(row.version == 1 ? value + 10 : value * 2)
    }
    let wallet = try await dispatcher.register(
      store: .wallet(), persisted: .elements(\.all), as: type)
    #expect(wallet.model.all.dictionary == ["a": 22, "b": 22])
    #expect(database.rows(ofStore: "wallet", part: 1) == ["a": "22", "b": "22"])
    #expect(wallet.version == 2)
    // An older program refuses the newer rows.
    database.crash()
    let error = await #expect(throws: PersistenceError.self) {
      _ = try await PersistenceStage(on: database)
    }
    #expect(error?.code == .newerVersion)
    #expect(error?.message.contains("version 3") == true)
  }

  @Test func knowNoVersionThatADatabaseCannotKeep() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = PersistedType("wallet", version: 1 << 31)
    }
    #expect(result.message.contains("\"wallet\" can't have version 2147483648"))
  }

  @Test func countVersionsUpFromOne() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = PersistedType("wallet", version: 0)
    }
    #expect(result.message.contains("\"wallet\" can't have version 0"))
  }

  @Test func thatCannotMigrateChangeNothing() async throws {
    let database = MemoryDatabase()
    let stage = try await PersistenceStage(on: database)
    await stage.dispatcher.send(Deposit(account: "a", amount: 1))
    func refusal(_ type: PersistedType) async throws -> PersistenceError? {
      database.crash()
      let dispatcher = Dispatcher(name: "bank")
      try await database.open(for: dispatcher)
      return await #expect(throws: PersistenceError.self) {
        try await dispatcher.register(store: .wallet(), persisted: .elements(\.all), as: type)
      }
    }
    let throwing = try await refusal(PersistedType("wallet", version: 2) { _ in throw Refused() })
    #expect(throwing?.code == .migration)
    for part in ["dispatchstore_rows", "row \"\" of part 0"] {
      #expect(throwing?.message.contains(part) == true, "\(throwing as Any)")
    }
    #expect(try await refusal(PersistedType("wallet", version: 2))?.code == .migration)
    #expect(try await refusal(PersistedType("other"))?.code == .notDecodable)
    let undecodable = try await refusal(
      PersistedType("wallet", version: 2) { row in if row.part == 1 { row.value = "text" } })
    #expect(undecodable?.code == .notDecodable)
    for part in ["dispatchstore_rows", "\"wallet\"", "element \"a\"", "Int"] {
      #expect(undecodable?.message.contains(part) == true, "\(undecodable as Any)")
    }
    database.crash()
    let next = try await PersistenceStage(on: database)
    #expect(next.wallet.model.all.dictionary == ["a": 1])
  }
}

extension PersistenceStage {
  /// Writes a row for each element that a group changes.
  fileprivate func insertElements() {
    persistence.project(wallet) { changes, transaction in
      for (account, _, new) in changes.elements(\.all) ?? [] {
        try transaction.execute("INSERT", account, new)
      }
    }
  }
}
