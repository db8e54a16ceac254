import DispatchStoreTesting
import Foundation
import PostgreSQLServer
import Programs
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

private struct Account: ModelType, Codable { var balance = 0 }
private struct Deposit: CodableAction { let amount: Int }

private func account(_ identifier: String) -> Store<Account, HandledAction> {
  Store(identifier: identifier, model: Account()) {
    On(Deposit.self) { account, deposit in account.balance += deposit.amount }
  }
}

/// The log of a recorder in a table, in SQLite and PostgreSQL.
@Suite("Saved logs", .timeLimit(.minutes(5)))
struct SavedLogTests {
  private let folder: Folder
  private let server: Database
  private let clock = VirtualClock()

  init() throws { (folder, server) = (try Folder(), try Database()) }

  private func database(_ isServer: Bool) -> PersistenceDatabase {
    isServer ? .postgreSQL(url: server.url) : .sqlite(path: folder.database)
  }

  private struct Service {
    let dispatcher: Dispatcher
    let persistence: Persistence
    let recorder = DispatchRecorder(limit: 200)

    init(_ database: PersistenceDatabase, _ name: String, _ clock: VirtualClock) async throws {
      let outside = Dispatcher(name: "clock", clock: clock)
      persistence = try await Persistence(database, inWorldOf: outside)
      dispatcher = Dispatcher(name: name, persistence: persistence, clock: clock)
      dispatcher.register(middleware: recorder)
      dispatcher.register(store: account("account"))
    }

    func deposit(_ amounts: ClosedRange<Int>) async {
      for amount in amounts { await dispatcher.send(Deposit(amount: amount)) }
    }

    /// Whether the state of stores is still saved.
    func savesStores() async throws -> Bool {
      try await dispatcher.register(store: account("saved"), persisted: .model)
      return await dispatcher.send(Deposit(amount: 1)).result.isSuccess
    }

    var logs: [DispatchLog] {
      get async throws { try await DispatchLog.saved(in: persistence) }
    }

    func save(keeping age: Duration = .seconds(60)) async throws -> Int {
      try await recorder.saveLog(in: persistence, keeping: age)
    }
  }

  @Test(arguments: [false, true])
  func whatCameSinceTheLastTimeIsSavedOnceAndReadAgain(isServer: Bool) async throws {
    let first = try await Service(database(isServer), "first", clock)
    await first.deposit(1...120)
    #expect(try await first.save() == 0)
    #expect(try await first.save() == 0)
    await first.deposit(121...125)
    _ = try await first.save()
    let log = first.recorder.log
    try await first.persistence.close()
    clock.advance(by: .seconds(1))
    let second = try await Service(database(isServer), "second", clock)
    await second.deposit(1...3)
    _ = try await second.save()
    let logs = try await DispatchLog.saved(in: second.persistence)
    #expect(logs.map(\.dispatcher) == ["first", "second"])
    #expect(logs.first?.entries == log.entries && logs.last?.entries.count == 3)
    #expect(abs(logs[0].origin.timeIntervalSince(log.origin)) < 0.001)
    let since = logs[1].origin.addingTimeInterval(-0.1)
    #expect(try await DispatchLog.saved(in: second.persistence, since: since).count == 1)
    try await second.persistence.close()
  }

  @Test(arguments: [false, true])
  func logsOfRecordersThatBeginAtTheSameTimeStayApart(isServer: Bool) async throws {
    let service = try await Service(database(isServer), "shop", clock)
    let other = DispatchRecorder()
    service.dispatcher.register(middleware: other)
    await service.deposit(1...3)
    _ = try await service.save()
    try await other.saveLog(in: service.persistence, keeping: .seconds(60))
    let logs = try await service.logs
    #expect(logs.map(\.entries) == [other.log.entries, other.log.entries])
    #expect(logs.map(\.droppedCount) == [0, 0])
    try await service.persistence.close()
  }

  @Test(arguments: [false, true])
  func callsAtTheSameTimeSaveEachEntryOnce(isServer: Bool) async throws {
    let service = try await Service(database(isServer), "shop", clock)
    await service.deposit(1...100)
    async let one = service.save()
    async let two = service.save()
    let dropped = try await (one, two)
    #expect(dropped == (0, 0))
    #expect(try await service.logs.flatMap(\.entries) == service.recorder.log.entries)
    try await service.persistence.close()
  }

  @Test(arguments: [false, true])
  func aTableOfTheUsersWithThatNameIsRefusedAndSavingGoesOn(isServer: Bool) async throws {
    let sql = "CREATE TABLE dispatch_log (x int)"
    if isServer { try server.psql(sql) } else { try Stranger(folder.database).run(sql) }
    let service = try await Service(database(isServer), "shop", clock)
    await service.deposit(1...3)
    let error = await #expect(throws: PersistenceError.self) { try await service.save() }
    #expect(error?.code == .statement)
    await #expect(throws: PersistenceError.self) {
      try await service.logs
    }
    #expect(try await service.savesStores())
    try await service.persistence.close()
  }

  @Test func twoPartitionsMayMakeTheTableAtTheSameTime() async throws {
    let one = try await Service(.postgreSQL(url: server.url, partition: "a"), "one", clock)
    let other = try await Service(.postgreSQL(url: server.url, partition: "b"), "other", clock)
    async let first = one.save()
    async let second = other.save()
    let dropped = try await (first, second)
    #expect(dropped == (0, 0))
    #expect(try await one.savesStores())
    #expect(try await other.savesStores())
    try await one.persistence.close()
    try await other.persistence.close()
  }

  @Test func aRoleNeedsNoRightToMakeATableThatIsThere() async throws {
    let first = try await Service(database(true), "first", clock)
    _ = try await first.save()
    try await first.persistence.close()
    try server.psql(
      """
      CREATE ROLE \(server.name) LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO \(server.name)
      """)
    let url = DatabaseServer.present.url(server.name, user: server.name)
    let second = try await Service(.postgreSQL(url: url), "second", clock)
    await second.deposit(1...3)
    #expect(try await second.save() == 0)
    #expect(try await DispatchLog.saved(in: second.persistence).map(\.entries.count) == [3])
    try await second.persistence.close()
  }

  @Test func aTableThatIsLockedHoldsUpNoStore() async throws {
    let settings = PostgreSQLSettings(lease: .seconds(1), patience: .milliseconds(500))
    let persistence = try await Persistence(.postgreSQL(url: server.url, settings: settings))
    let dispatcher = Dispatcher(name: "shop", persistence: persistence)
    dispatcher.onWarning { _ in }
    let recorder = DispatchRecorder()
    dispatcher.register(middleware: recorder)
    try await dispatcher.register(store: account("account"), persisted: .model)
    try await recorder.saveLog(in: persistence, keeping: .seconds(60))
    await dispatcher.send(Deposit(amount: 1))

    let other = try Opened(
      server.driver("other", settings: PostgreSQLSettings(lease: .seconds(3_600))))
    #expect(try other.driver.begin(as: other.owner))
    _ = try other.driver.execute("LOCK TABLE dispatch_log", [])
    let error = await #expect(throws: PersistenceError.self) {
      try await recorder.saveLog(in: persistence, keeping: .seconds(60))
    }
    #expect(error?.code == .busy)
    let result = await dispatcher.send(Deposit(amount: 1)).result
    #expect(result.isSuccess)
    other.driver.rollback()

    try await recorder.saveLog(in: persistence, keeping: .seconds(60))
    let entries = try await DispatchLog.saved(in: persistence).flatMap(\.entries)
    #expect(entries == recorder.log.entries)
    try await persistence.close()
  }

  @Test(arguments: [false, true])
  func manyOldEntriesAreRemovedInSeveralTransactions(isServer: Bool) async throws {
    let service = try await Service(database(isServer), "shop", clock)
    _ = try await service.save()
    await service.deposit(1...3)
    let insertion = """
      INSERT INTO dispatch_log WITH RECURSIVE old (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM old WHERE n < 25000)
      SELECT 0, 'shop', n, n, '{}' FROM old
      """
    let count = try await service.persistence.perform { try $0.execute(insertion, []) }
    #expect(count == 25_000)
    let before = service.persistence.status.group
    #expect(try await service.save() == 0)
    #expect(service.persistence.status.group >= before + 3)
    #expect(try await service.logs.flatMap(\.entries) == service.recorder.log.entries)
    try await service.persistence.close()
  }

  @Test(arguments: [false, true], [Int64.max, .min, 1_800_000_000_000_000_000])
  func aRowWhoseOriginCanNotBeIsNamed(isServer: Bool, origin: Int64) async throws {
    let service = try await Service(database(isServer), "shop", clock)
    await service.deposit(1...3)
    _ = try await service.save()
    _ = try await service.persistence.perform {
      try $0.execute("UPDATE dispatch_log SET origin = $1", [.integer(origin)])
    }
    let error = await #expect(throws: LogFormatError.self) {
      try await service.logs
    }
    #expect(error?.line == 1)
    try await service.persistence.close()
  }

  @Test(arguments: [false, true])
  func rowsOfOneNumberMakeALogThatCanBeWrittenAndRead(isServer: Bool) async throws {
    let service = try await Service(database(isServer), "shop", clock)
    await service.deposit(1...3)
    _ = try await service.save()
    _ = try await service.persistence.perform {
      try $0.execute(
        "UPDATE dispatch_log SET number = (SELECT MIN(number) FROM dispatch_log)", [])
    }
    let logs = try await service.logs
    let log = try #require(logs.first)
    #expect(try DispatchLog(jsonLines: log.jsonLines()).entries == log.entries)
    #expect(log.entries.count == 3 && log.droppedCount == 0)
    try await service.persistence.close()
  }

  @Test(arguments: [false, true])
  func whatIsOlderThanTheAgeIsRemovedAndWhatWasDroppedIsCounted(isServer: Bool) async throws {
    let service = try await Service(database(isServer), "shop", clock)
    await service.deposit(1...5)
    _ = try await service.save()
    clock.advance(by: .seconds(50))
    await service.deposit(1...500)
    let dropped = try await service.save()
    #expect(dropped + service.recorder.log.entries.count == 500)
    #expect(try await service.logs[0].droppedCount == dropped)
    clock.advance(by: .seconds(20))
    _ = try await service.save()
    #expect(try await service.logs.flatMap(\.entries) == service.recorder.log.entries)
    try await service.persistence.close()
  }

  @Test(arguments: [false, true])
  func whatIsOlderThanTheAgeBeforeItIsSavedIsLeftOutAndCounted(isServer: Bool) async throws {
    let service = try await Service(database(isServer), "shop", clock)
    await service.deposit(1...3)
    clock.advance(by: .seconds(70))
    await service.deposit(4...5)
    #expect(try await service.save() == 3)
    let logs = try await service.logs
    #expect(logs.map(\.entries) == [Array(service.recorder.log.entries.suffix(2))])
    #expect(logs.map(\.droppedCount) == [3])
    try await service.persistence.close()
  }

  @Test(arguments: [false, true])
  func whatAnotherDispatcherHasSavedIsRemovedAtItsOwnAge(isServer: Bool) async throws {
    let service = try await Service(database(isServer), "shop", clock)
    let audit = Dispatcher(name: "audit", persistence: service.persistence, clock: clock)
    let recorder = DispatchRecorder()
    audit.register(middleware: recorder)
    audit.register(store: account("audit"))
    await audit.send(Deposit(amount: 1))
    try await recorder.saveLog(in: service.persistence, keeping: .seconds(600))
    await service.deposit(1...3)
    _ = try await service.save()
    clock.advance(by: .seconds(100))
    _ = try await service.save()
    let logs = try await service.logs
    #expect(logs.map(\.dispatcher) == ["audit"])
    clock.advance(by: .seconds(600))
    try await recorder.saveLog(in: service.persistence, keeping: .seconds(600))
    #expect(try await service.logs.isEmpty)
    try await service.persistence.close()
  }
}
