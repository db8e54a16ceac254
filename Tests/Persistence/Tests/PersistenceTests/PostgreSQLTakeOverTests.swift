import CPostgreSQL
import Foundation
import PostgreSQLServer
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

private struct Notes: ModelType, Codable { var all = TrackedDictionary<Int, Int>() }
private struct Sum: ModelType, Codable { var value = 0 }
private struct Add: CodableAction {}

/// What the present owner, the former one and those who wait notice of each other.
@Suite("PostgreSQL: taking over", .serialized, .timeLimit(.minutes(1)))
struct PostgreSQLTakeOverTests {
  let database: Database
  private let short = PostgreSQLSettings(lease: .milliseconds(300))

  init() throws { database = try Database() }

  private func standby(_ settings: PostgreSQLSettings? = nil) -> Task<Persistence, any Error> {
    Task { [database, short] in
      try await Persistence(
        .postgreSQL(url: database.url, waitForOwnership: true, settings: settings ?? short))
    }
  }

  @Test func aTransactionOfALostConnectionThatTheServerStillHasIsEnded() throws {
    let opened = try Opened(database.driver(settings: short))
    _ = try opened.store()
    let stalled = try StalledTransaction(database)
    opened.driver.noteLostReply(to: opened.owner)
    // Waits for two seconds.
    try expect(.busy) { _ = try opened.driver.begin(as: opened.owner) }
    #expect(try opened.driver.begin(as: opened.owner))
    opened.driver.rollback()
    try opened.group { _ in }
    withExtendedLifetime(stalled) {}
  }

  @Test func aConnectionThatHasNotCommittedYetIsEnded() throws {
    let first = try Opened(database.driver(settings: short))
    let store = try first.store()
    // A new connection, whose process at the server is in no committed row.
    try database.endConnections()
    try expect(.busy) { try first.group { try $0.save(version: 2, ofStore: store) } }
    // Statements without an end: the server waits for the rest, and no limit of an idle transaction holds.
    let stalled = try StalledTransaction(database)
    let next = try Opened(database.driver(waits: true, settings: short))
    #expect(next.owner.epoch == first.owner.epoch + 1)
    withExtendedLifetime(stalled) {}
  }

  @Test func whoWaitsSurvivesARestartOfTheServer() async throws {
    let first = try Opened(database.driver(settings: PostgreSQLSettings(lease: .seconds(3_600))))
    let second = standby()
    for _ in 0..<3 {
      try await awaitStandby()
      try database.endConnections()
    }
    #expect(throws: PersistenceError.self) { try first.group { _ in } }
    try first.group { _ in }
    first.driver.close()
    let persistence = try await second.value
    #expect(persistence.status.epoch == first.owner.epoch + 1)
    try await persistence.close()
  }

  @Test func aSessionThatOnlyReadsIsReplaced() throws {
    let opened = try Opened(database.driver())
    let store = try opened.store()
    try database.onlyReads(true)
    try database.endConnections()
    #expect(throws: PersistenceError.self) { try opened.group { _ in } }
    try expect(.busy, "read-only") { try opened.group { try $0.save(version: 2, ofStore: store) } }
    try database.onlyReads(false)
    try opened.group { try $0.save(version: 2, ofStore: store) }
  }

  @Test func anOwnerThatReadsForLongerThanItsLeaseStaysTheOwner() async throws {
    let settings = PostgreSQLSettings(lease: .seconds(3))
    let first = try Opened(database.driver(settings: settings))
    // The first group sets it again.
    try database.psql("UPDATE dispatchstore_partitions SET lease_end = 'infinity'")
    let second = standby(settings)
    try await awaitStandby()
    for _ in 0..<2 {
      try first.group { driver in
        for _ in 0..<5 {
          _ = try driver.query("SELECT pg_sleep(0.8)", [])
        }
      }
    }
    first.driver.close()
    let persistence = try await second.value
    #expect(persistence.status.epoch == first.owner.epoch + 1)
    try await persistence.close()
  }

  @Test func anOwnerThatEncodesForLongerThanItsLeaseStaysTheOwner() async throws {
    // A busy machine may stand still for seconds.
    let settings = PostgreSQLSettings(lease: .seconds(5))
    let coder = WatchedCoder {
      let end = ContinuousClock.now + .milliseconds(100)
      while .now < end {}
    }
    let first = try await Persistence(
      .postgreSQL(url: database.url, settings: settings), coder: coder)
    let dispatcher = Dispatcher(name: "shop", persistence: first)
    let store = Store<Notes, HandledAction>(identifier: "notes", model: Notes()) {
      On(Add.self) { notes, _ in notes.all[notes.all.count] = 1 }
    }
    try await dispatcher.register(store: store, persisted: .elements(\.all))
    let second = standby(settings)
    try await awaitStandby()
    store.updateModel { notes in
      for number in 0..<75 { notes.all[number] = 1 }
    }
    try await first.flush()
    let epoch = first.status.epoch
    try await first.close()
    let next = try await second.value
    #expect(next.status.epoch == epoch + 1)
    try await next.close()
  }

  /// The lease counts from the statement that renews it, and not from a reply that comes late.
  @Test func anOwnerRenewsItsLeaseAfterASlowCommitAndAgainIfSomebodyHadTheRow() throws {
    let (now, renewals) = (Locked(Duration.zero), Locked(0))
    let driver = database.driver(now: { now.withLock(\.self) }) { statements in
      for statement in statements {
        switch statement {
        case .commit: now.withLock { $0 += .seconds(4) }
        case .keepLease: renewals.withLock { $0 += 1 }
        default: break
        }
      }
    }
    let opened = try Opened(driver)
    try opened.group { _ in }
    for _ in 0..<2 { driver.keepLease() }
    #expect(renewals.withLock(\.self) == 1)
    let stalled = try StalledTransaction(database)
    now.withLock { $0 += .seconds(4) }
    for _ in 0..<2 { driver.keepLease() }
    #expect(renewals.withLock(\.self) == 3)
    try database.psql("SELECT pg_terminate_backend(\(stalled.process), 5000)")
    for _ in 0..<2 { driver.keepLease() }
    #expect(renewals.withLock(\.self) == 4)
    withExtendedLifetime(stalled) {}
  }

  @Test func aLeaseIsOverByTheOwnersClockUntilItIsRenewed() throws {
    let now = Locked(Duration.zero)
    let driver = database.driver(now: { now.withLock(\.self) }) { _ in }
    let opened = try Opened(driver)
    let renewals: [() throws -> Void] = [{ try opened.group { _ in } }, { driver.keepLease() }]
    for renew in renewals {
      now.withLock { $0 += .seconds(10) }
      #expect(driver.isLeaseOver)
      try renew()
      now.withLock { $0 += .seconds(9) }
      #expect(!driver.isLeaseOver)
      now.withLock { $0 += .seconds(1) }
      #expect(driver.isLeaseOver)
    }
  }

  /// Here the row of the model takes long, and the row of the key comes after it.
  @Test func anOwnerKeepsItsLeaseWhileItEncodesKeys() async throws {
    let (now, renewals) = (Locked(Duration.zero), Locked(0))
    let driver = database.driver(now: { now.withLock(\.self) }) { statements in
      for case .keepLease in statements { renewals.withLock { $0 += 1 } }
    }
    let coder = WatchedCoder { now.withLock { $0 += .seconds(4) } }
    let persistence = try await Persistence(
      PersistenceDatabase { driver }, coder: coder, actions: ActionCoder(Add.self))
    let dispatcher = Dispatcher(name: "shop", persistence: persistence)
    let store = Store<Sum, HandledAction>(identifier: "sum", model: Sum()) {
      On(Add.self) { sum, _ in sum.value += 1 }
    }
    try await dispatcher.register(store: store, persisted: .model)
    let result = await dispatcher.send(Add(), options: .idempotencyKey("a")).result
    #expect(result.isSuccess)
    try await persistence.close()
    #expect(renewals.withLock(\.self) > 0)
  }

  /// It may be tried again for longer than the lease.
  @Test func anOwnerWhoseTransactionFailsKeepsItsLease() throws {
    let first = try Opened(database.driver())
    try database.psql("UPDATE dispatchstore_partitions SET lease_end = '-infinity'")
    #expect(throws: PersistenceError.self) {
      try first.group { _ = try $0.query("SELECT 1 / 0", []) }
    }
    try expect(.inUse) { _ = try database.driver().open() }
  }

  @Test func anOwnerWhoseTransactionFailsTakesNoLeaseFromAnotherOne() throws {
    let first = try Opened(database.driver())
    try database.psql(
      "UPDATE dispatchstore_partitions SET epoch = epoch + 1, holder = 'x', lease_end = '-infinity'"
    )
    try expect(.notOwner) { try first.group { _ = try $0.query("SELECT 1", []) } }
    #expect(try database.psql("SELECT lease_end FROM dispatchstore_partitions") == "-infinity")
  }

  @Test func aProcessThatWaitsDoesNotLockThePartition() throws {
    let first = try Opened(database.driver(settings: PostgreSQLSettings(lease: .seconds(3_600))))
    let (asked, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let hasLocked = Locked(false)
    let next = database.driver(waits: true) { statements in
      for case .readHolder(_, _, let locks) in statements {
        if locks { hasLocked.withLock { $0 = true } }
        asked.signal()
      }
    }
    Thread.detachNewThread {
      _ = try? next.open()
      ended.signal()
    }
    for _ in 0..<3 { asked.wait() }
    next.cancelOpening()
    ended.wait()
    let lockedMeanwhile = hasLocked.withLock { $0 }
    #expect(!lockedMeanwhile)
    try first.group { _ in }
  }

  @Test func aPartitionWhoseRowSeveralSessionsShareIsInUseUntilTheyEnd() throws {
    try Opened(database.driver()).driver.close()
    var readers = try (0..<2).map { _ in
      try StalledTransaction(database, "SELECT 1 FROM dispatchstore_partitions FOR SHARE")
    }
    try expect(.inUse) { _ = try database.driver().open() }
    let waiting = database.driver(waits: true)
    waiting.cancelOpening()
    #expect(throws: CancellationError.self) { try waiting.open() }
    #expect(readers.count == 2)
    readers = []
    _ = try Opened(database.driver(waits: true))
  }

  @Test func aTransactionThatThisRoleMayNotEndIsWaitedFor() throws {
    let first = try Opened(database.driver(settings: short))
    let role = database.name
    try database.psql(
      "CREATE ROLE \(role) LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO \(role)")
    let url = server.url(database.name, user: role)
    do {
      let stalled = try StalledTransaction(database)
      let isOver = "SELECT lease_end < clock_timestamp() FROM dispatchstore_partitions"
      while try database.psql(isOver) != "t" {}
      try expect(.inUse) { _ = try database.driver(url: url).open() }
      withExtendedLifetime(stalled) {}
    }
    let next = try Opened(database.driver(url: url, waits: true))
    #expect(next.owner.epoch == first.owner.epoch + 1)
  }

  /// As a process of the server's that waits for a slow disk, and does not notice that it was told to end.
  @Test func aPartitionWhoseRowSomebodyKeepsWhoDoesNotEndIsInUse() throws {
    try Opened(database.driver()).driver.close()
    let stalled = try StalledTransaction(database)
    kill(stalled.process, SIGSTOP)
    defer { kill(stalled.process, SIGCONT) }
    try expect(.inUse) { _ = try database.driver().open() }
  }

  @Test func aProcessThatHasLostTheReplyToItsTakeOverTakesOverAtOnce() throws {
    let lost = Locked<String?>(nil)
    let driver = database.driver(waits: true) { [database] (statements) throws(PostgreSQLFailure) in
      switch statements.first {
      case .takeOver(_, let holder, _)? where lost.withLock({ $0 == nil }):
        lost.withLock { $0 = holder }
        throw PostgreSQLFailure(sqlState: "08006", message: "cut", isLost: true)
      case .settings?:
        // On the next connection; the server has run what was sent.
        guard let holder = lost.withLock(\.self) else { return }
        _ = try? database.psql(
          """
          UPDATE dispatchstore_partitions SET epoch = epoch + 1, holder = '\(holder)',
            lease_end = clock_timestamp() + interval '1 hour'
          """)
      default: return
      }
    }
    let opened = try Opened(driver)
    #expect(opened.owner.epoch == 2)
    try opened.group { _ in }
  }

  /// Waits until another process asks for the partition.
  private func awaitStandby() async throws {
    let query = """
      SELECT count(*) FROM pg_stat_activity WHERE datname = '\(database.name)' AND pid <> pg_backend_pid()
        AND query_start > clock_timestamp() - interval '50 ms' AND query ~ 'holder'
      """
    while try database.psql(query) == "0" { await Task.yield() }
  }
}

/// A connection that has sent a part of a transaction.
private final class StalledTransaction {
  private let handle: OpaquePointer

  init(
    _ database: Database,
    _ sql: String = "UPDATE dispatchstore_partitions SET last_group = last_group + 1"
  ) throws {
    handle = PQconnectdb(database.url)!
    PQenterPipelineMode(handle)
    for sql in ["BEGIN", sql] {
      PQsendQueryParams(handle, sql, 0, nil, nil, nil, nil, 0)
    }
    PQsendFlushRequest(handle)
    PQflush(handle)
    for _ in 0..<2 { while let result = PQgetResult(handle) { PQclear(result) } }
  }

  deinit { PQfinish(handle) }

  /// The process of the server's that has it.
  var process: pid_t { PQbackendPID(handle) }
}
