import Foundation
import PostgreSQLServer
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

@Suite("PostgreSQL: owners", .timeLimit(.minutes(5)))
struct PostgreSQLOwnerTests {
  let database: Database
  private let short = PostgreSQLSettings(lease: .milliseconds(300))

  init() throws { database = try Database() }

  @Test func anotherProcessWaitsForTheEndOfTheLease() throws {
    let first = try Opened(database.driver(settings: short))
    let store = try first.store()
    try expect(.inUse, "this process, process \(getpid()) on host", "waitForOwnership") {
      _ = try database.driver().open()
    }
    let next = try Opened(database.driver(waits: true))
    #expect(next.owner.epoch == first.owner.epoch + 1 && next.owner.group == first.owner.group)
    // The first one has stood still, and saves nothing.
    try expect(.notOwner, "its epoch is \(next.owner.epoch)") {
      try first.group { try $0.save(Data(), at: SavedRow(part: 0, key: ""), ofStore: store) }
    }
    #expect(try next.rows(store) == [:])
    first.driver.close()
    try expect(.inUse) { _ = try database.driver().open() }
  }

  @Test func anOrderlyEndHandsOverAtOnce() throws {
    let first = try Opened(database.driver(settings: PostgreSQLSettings(lease: .seconds(3_600))))
    first.driver.close()
    let next = try Opened(database.driver())
    #expect(next.owner.epoch == first.owner.epoch + 1)
  }

  @Test func aProcessThatStandsStillInLineHoldsNobodyUp() throws {
    let (stands, goesOn, ended) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    let still = database.driver(waits: true, settings: short) { statements in
      guard case .takeOver? = statements.first else { return }
      stands.signal()
      goesOn.wait()
    }
    Thread.detachNewThread {
      _ = try? still.open()
      ended.signal()
    }
    // It has the partition's row until the server ends its transaction.
    stands.wait()
    let next = try Opened(database.driver(waits: true))
    // Its connection is lost, and it stands in line again.
    goesOn.signal()
    still.cancelOpening()
    ended.wait()
    try next.group { _ in }
  }

  @Test func aTransactionOfTheFormerOwnerIsEnded() throws {
    let first = try Opened(database.driver(settings: PostgreSQLSettings(lease: .milliseconds(300))))
    let store = try first.store()
    #expect(try first.driver.begin(as: first.owner))
    try first.driver.save(Data("1".utf8), at: SavedRow(part: 0, key: ""), ofStore: store)
    _ = try first.driver.lastPart(ofStore: store)
    // The process stands still with the row locked. The server ends its transaction, or the next owner does.
    let next = try Opened(database.driver(waits: true))
    let failure = try expect(.busy) { try first.driver.commit() }
    first.driver.rollback()
    #expect(!failure.isOutcomeKnown)
    try expect(.notOwner) { _ = try first.driver.begin(as: first.owner) }
    #expect(try next.rows(store) == [:])
  }

  @Test func aLongStatementOfTheFormerOwnerIsEnded() throws {
    let first = try Opened(database.driver(settings: short))
    _ = try first.store()
    // A connection that the partition's row does not know yet.
    first.driver.noteLostReply(to: first.owner)
    #expect(try first.driver.begin(as: first.owner))
    let (driver, ended) = (first.driver, DispatchSemaphore(value: 0))
    let isRefused = Locked(false)
    Thread.detachNewThread {
      do {
        _ = try driver.query("SELECT pg_sleep(20)", [])
      } catch {
        isRefused.withLock { $0 = true }
      }
      ended.signal()
    }
    _ = try Opened(database.driver(waits: true))
    ended.wait()
    #expect(isRefused.withLock { $0 })
  }

  /// With no descriptor left, the file that says when a process began can't be read.
  @Test func aProcessThatCannotBeLookedUpIsNotTakenForDead() async {
    await #expect(processExitsWith: .success) {
      let holder = PostgreSQLHolder.this
      #expect(!holder.isDead)
      limit(RLIMIT_NOFILE.rawValue, to: 0)
      let isDead = holder.isDead
      limit(RLIMIT_NOFILE.rawValue, to: nil)
      #expect(!isDead)
    }
  }

  /// Versions of pgbouncer before 1.21 don't bring a client's prepared statements to another connection.
  @Test(.enabled(if: Pooler.isInstalled))
  func aPoolerMayUseAnotherConnectionForEachTransaction() throws {
    let folder = "\(server.folder)/\(database.name)"
    let pooler = try Pooler(to: server.port, in: folder)
    defer { pooler.stop() }
    let url = server.url(database.name, port: pooler.port)
    let opened = try Opened(database.driver(url: url))
    let store = try opened.store()
    for value in 0..<5 {
      try opened.group {
        try $0.save(Data("\(value)".utf8), at: SavedRow(part: 0, key: ""), ofStore: store)
      }
      #expect(try opened.rows(store) == ["": Data("\(value)".utf8)])
      try database.endConnections()
    }
  }

  /// As behind a pooler that ends TLS: a record of the server's own fits into libpq's buffer.
  @Test(.enabled(if: TLSProxy.isInstalled), arguments: [500, 777, 1_000])
  func anAnswerInLargeTLSRecordsArrives(_ count: Int) throws {
    let proxy = try TLSProxy(to: server.port, in: "\(server.folder)/\(database.name)")
    let url = server.url(database.name, port: proxy.port) + "?sslmode=require"
    let settings = PostgreSQLSettings(patience: .seconds(5))
    let opened = try Opened(database.driver(url: url, settings: settings))
    let rows = try opened.group {
      try $0.query("SELECT repeat('x', 200) FROM generate_series(1, \(count))", [])
    }
    #expect(rows.count == count)
    opened.driver.close()
    withExtendedLifetime(proxy) {}
  }

  /// As the loading of a store whose elements are decoded slowly.
  @Test func aTransactionThatReadsSlowlyIsNotEnded() throws {
    let opened = try Opened(database.driver(settings: short))
    let store = try opened.store()
    try opened.save(0..<100, ofStore: store)
    try opened.group { driver in
      let (begin, share) = (ContinuousClock.now, short.lease * 2 / 100)
      var count = 0
      try driver.forEachRow(ofStore: store, part: 0) { _, _ in
        count += 1
        let end = begin + share * count
        while .now < end {}
      }
      #expect(count == 100)
    }
  }

  /// As the registration of a large store: the server ends a transaction that is idle for half a lease.
  @Test func aTransactionWhoseRowsTakeLongIsNotEnded() throws {
    let opened = try Opened(database.driver(settings: short))
    try opened.group { driver in
      let store = try driver.save(SavedStore(version: 1, typeName: "Shop", typeVersion: 1), "store")
      let end = ContinuousClock.now + short.lease * 2
      while .now < end {
        try driver.save(Data("1".utf8), at: SavedRow(part: 0, key: ""), ofStore: store)
      }
    }
  }

  @Test func aStatementMayTakeLongerThanThePatienceWhileItsResultArrives() throws {
    let opened = try Opened(
      database.driver(settings: PostgreSQLSettings(patience: .seconds(2))))
    // Three seconds; a server that is busy may fall silent for some of them.
    try opened.group { driver in
      let rows = try driver.query(
        "SELECT repeat('x', 20000) FROM generate_series(1, 20), pg_sleep(0.15 + 0 * generate_series)",
        [])
      #expect(rows.count == 20)
    }
    try expect(.busy, "has not answered for 2.0 s") {
      try opened.group { _ = try $0.query("SELECT pg_sleep(10)", []) }
    }
  }

  @Test func aLostReplyIsLookedUp() throws {
    for isCommitted in [true, false] {
      let opened = try Opened(try Database().driver())
      let store = try opened.store()
      let proxied = opened.owner
      if isCommitted { try opened.group { try $0.save(version: 2, ofStore: store) } }
      // As after a connection that broke in the commit.
      opened.driver.noteLostReply(to: proxied)
      #expect(try opened.driver.begin(as: proxied) == !isCommitted)
      opened.driver.rollback()
      try opened.group { try $0.save(version: 3, ofStore: store) }
    }
  }

  @Test func aTransactionThatIsCommittedAfterTheLookIsFound() throws {
    let opened = try Opened(database.driver())
    let store = try opened.store()
    opened.driver.noteLostReply(to: opened.owner)
    #expect(try opened.driver.begin(as: opened.owner))
    opened.driver.rollback()
    // As what was sent on the lost connection, and was waiting at the server.
    try database.psql("UPDATE dispatchstore_partitions SET last_group = last_group + 1")
    #expect(try !opened.driver.begin(as: opened.owner))
    opened.owner.group += 1
    try opened.group { try $0.save(version: 3, ofStore: store) }
  }

  @Test func aLookThatWaitsTooLongIsTriedAgain() throws {
    let opened = try Opened(database.driver())
    _ = try opened.store()
    opened.driver.noteLostReply(to: opened.owner)
    // A transaction has the row for longer than a look waits.
    let database = database
    Thread.detachNewThread {
      _ = try? database.psql(
        "BEGIN; SELECT 1 FROM dispatchstore_partitions FOR UPDATE; SELECT pg_sleep(3); COMMIT")
    }
    let sleepers = """
      SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'
      """
    while try !database.psql(sleepers).hasPrefix("1") { Thread.sleep(forTimeInterval: 0.02) }
    try expect(.busy) { _ = try opened.driver.begin(as: opened.owner) }
    #expect(try opened.driver.begin(as: opened.owner))
    opened.driver.rollback()
  }

  /// A driver whose server may be silent, and which counts how often it waits for that.
  private func driver(
    _ isSilent: Locked<Bool>, _ waits: Locked<Int>, first: @escaping @Sendable () -> Void = {}
  ) -> PostgreSQLDriver {
    database.driver { (_) throws(PostgreSQLFailure) in
      guard isSilent.withLock(\.self) else { return }
      let isFirst = waits.withLock { waits in
        waits += 1
        return waits == 1
      }
      if isFirst { first() }
      throw PostgreSQLFailure(sqlState: "08006", message: "silence", isLost: true)
    }
  }

  @Test func aLookAtASilentServerWaitsOnce() throws {
    let (isSilent, waits) = (Locked(false), Locked(0))
    let opened = try Opened(driver(isSilent, waits))
    opened.driver.noteLostReply(to: opened.owner)
    isSilent.withLock { $0 = true }
    try expect(.busy, "silence") { _ = try opened.driver.begin(as: opened.owner) }
    #expect(waits.withLock(\.self) == 1)
    isSilent.withLock { $0 = false }
    try opened.group { _ in }
  }

  @Test func closingAwaitsTheAttemptUnderWayAtASilentServerAndOneLook() async throws {
    let (isSilent, waits, isOver) = (Locked(false), Locked(0), DispatchSemaphore(value: 0))
    let driver = driver(isSilent, waits) { isOver.wait() }
    let persistence = try await Persistence(PersistenceDatabase { driver })
    isSilent.withLock { $0 = true }
    let attempt = Task { try await persistence.perform { _ in } }
    while waits.withLock(\.self) == 0 { await Task.yield() }
    let closing = Task { try await persistence.close(timeout: .zero) }
    while persistence.state.withLock({ $0.commit.lastAttempt == nil }) { await Task.yield() }
    isOver.signal()
    try await closing.value
    _ = await attempt.result
    #expect(waits.withLock(\.self) == 2)
  }

  @Test func theOutcomeIsUnknownIfAnotherProcessHasSavedSince() throws {
    for groups in [0, 2] {
      let database = try Database()
      let opened = try Opened(database.driver())
      _ = try opened.store()
      opened.driver.noteLostReply(to: opened.owner)
      try database.psql(
        "UPDATE dispatchstore_partitions SET epoch = epoch + 1, last_group = last_group + \(groups)"
      )
      let error = try expect(.notOwner) { _ = try opened.driver.begin(as: opened.owner) }
      #expect(error.isOutcomeKnown == (groups == 0))
    }
  }

  @Test func theOutcomeIsUnknownIfTheLookFailsForGood() throws {
    let driver = database.driver { (statements) throws(PostgreSQLFailure) in
      for case .readOwner in statements {
        throw PostgreSQLFailure(sqlState: "58030", message: "The disk is broken", isLost: false)
      }
    }
    let opened = try Opened(driver)
    _ = try opened.store()
    driver.noteLostReply(to: opened.owner)
    let error = try expect(.inputOutput) { _ = try driver.begin(as: opened.owner) }
    #expect(!error.isOutcomeKnown)
  }

  /// Also if another process has become the owner.
  @Test(arguments: ["", ", epoch = epoch + 1, holder = 'x'"])
  func aDatabaseThatHasGoneBackIsNoticed(_ takeOver: String) throws {
    let opened = try Opened(database.driver())
    let store = try opened.store()
    try database.psql("UPDATE dispatchstore_partitions SET last_group = last_group - 1\(takeOver)")
    try expect(.journalWentBack, "group 0", "group 1") {
      try opened.group { try $0.save(version: 2, ofStore: store) }
    }
  }

  @Test func anotherOwnerWithTheSameNumbersIsNoticed() throws {
    let opened = try Opened(database.driver())
    let store = try opened.store()
    // As after a restore: another process has got this one's epoch, and its groups have come to the same number.
    try database.psql("UPDATE dispatchstore_partitions SET holder = 'another'")
    try expect(.journalWentBack) { try opened.group { try $0.save(version: 2, ofStore: store) } }
    opened.driver.close()
    #expect(try database.psql("SELECT holder FROM dispatchstore_partitions").contains("another"))
  }

  @Test func aLostConnectionIsMadeAnew() throws {
    let opened = try Opened(database.driver())
    let store = try opened.store()
    try database.endConnections()
    let failure = try expect(.busy) { try opened.group { try $0.save(version: 2, ofStore: store) } }
    #expect(!failure.isOutcomeKnown && failure.isTransient)
    try opened.group { try $0.save(version: 2, ofStore: store) }
    try database.endConnections()
    #expect(try opened.driver.begin(as: opened.owner))
    try expect(.busy) { _ = try opened.driver.store("other") }
    opened.driver.rollback()
    try opened.group { try $0.save(version: 3, ofStore: store) }
    let saved = try opened.group { try $0.store("store") }
    #expect(saved?.version == 3)
  }

  /// As one that is idle for too long, and from PostgreSQL 17 on one that lasts for too long.
  @Test(arguments: ["25P03", "25P04"])
  func aTransactionThatTheServerHasEndedIsTriedAgain(_ state: String) throws {
    let isEnded = Locked(false)
    let driver = database.driver { (_) throws(PostgreSQLFailure) in
      guard isEnded.withLock(\.self) else { return }
      throw PostgreSQLFailure(sqlState: state, message: "ended", isLost: false)
    }
    let opened = try Opened(driver)
    isEnded.withLock { $0 = true }
    try expect(.busy) { try opened.group { _ in } }
    isEnded.withLock { $0 = false }
    try opened.group { _ in }
  }

  @Test func aPoolerNeedNotKnowPreparedStatements() throws {
    let opened = try Opened(database.driver())
    let store = try opened.store()
    for version in 2...3 {
      try opened.group { try $0.save(version: UInt64(version), ofStore: store) }
    }
    // As on another connection of the server.
    try opened.group { _ = try $0.execute("DEALLOCATE ALL", []) }
    for version in 4...5 {
      try opened.group { try $0.save(version: UInt64(version), ofStore: store) }
    }
    #expect(try opened.group { try $0.store("store") }?.version == 5)
  }

  @Test func aStoreOfALostTransactionIsNotRemembered() throws {
    let opened = try Opened(database.driver())
    let saved = SavedStore(version: 1, typeName: "Shop", typeVersion: 1)
    #expect(try opened.driver.begin(as: opened.owner))
    _ = try opened.driver.save(saved, "store")
    try database.endConnections()
    try expect(.busy) { _ = try opened.driver.store("other") }
    opened.driver.rollback()
    #expect(try opened.group { try $0.store("store") } == nil)
  }

  @Test func noRenewalsPileUpWhileTheServerIsAway() async throws {
    let persistence = try await Persistence(.postgreSQL(url: database.url))
    let before = persistence.status.group
    try database.allowConnections(false)
    for _ in 0..<100 { persistence.renewLease(since: before) }
    for await status in persistence.statuses where status.lastError != nil { break }
    for _ in 0..<100 { persistence.renewLease(since: before) }
    try database.allowConnections(true)
    // An errand of its own, after all of them.
    try await persistence.delete("nobody")
    #expect(persistence.status.group == before + 2)
    try await persistence.close()
  }

  @Test func aWaitEndsIfItsTaskIsCancelled() async throws {
    let first = try Opened(database.driver(settings: PostgreSQLSettings(lease: .seconds(3_600))))
    let partition = PersistenceDatabase.postgreSQL(url: database.url, waitForOwnership: true)
    let task = Task { _ = try await Persistence(partition) }
    try await Task.sleep(for: .milliseconds(20))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    // Another wait of the same value is another one.
    let next = Task { try await Persistence(partition) }
    first.driver.close()
    try await next.value.close()
  }

  @Test func anIdleOwnerKeepsItsLease() async throws {
    let settings = PostgreSQLSettings(lease: .milliseconds(300))
    let persistence = try await Persistence(.postgreSQL(url: database.url, settings: settings))
    let before = persistence.status.group
    for await status in persistence.statuses where status.group >= before + 4 { break }
    try expect(.inUse) { _ = try database.driver().open() }
    try await persistence.close()
    _ = try database.driver().open()
  }
}
