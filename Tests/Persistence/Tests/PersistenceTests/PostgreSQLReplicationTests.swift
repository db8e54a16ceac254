import Foundation
import PostgreSQLServer
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

/// A server whose commits wait for a standby, which is away for some time.
@Suite("PostgreSQL: replication", .timeLimit(.minutes(2)))
struct PostgreSQLReplicationTests {
  private let primary: PostgreSQLServer
  private let standby: PostgreSQLServer

  init() throws {
    let folder = "\(server.folder)/replicated-\(freePort())"
    primary = try PostgreSQLServer(in: "\(folder)/1")
    try primary.start("synchronous_standby_names=walreceiver")
    standby = try PostgreSQLServer(copyOf: primary, in: "\(folder)/2", isStandby: true)
  }

  private func start() throws {
    try standby.start()
    let isSynchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
    while try primary.psql(isSynchronous) == "0" {}
  }

  private var savedGroup: Int64 {
    get throws { Int64(try primary.psql("SELECT last_group FROM dispatchstore_partitions"))! }
  }

  /// The library ends the transaction that waits for too long, or somebody cancels the server's waiting.
  ///
  /// Either way the server has committed the group, and the standby does not have it.
  @Test(arguments: [false, true])
  func aGroupIsAcknowledgedOnceTheStandbyHasIt(isCancelled: Bool) throws {
    try start()
    defer { for server in [primary, standby] { try? server.stop("immediate") } }
    // The server's warning that somebody has cancelled its waiting has to arrive nevertheless.
    try primary.psql("ALTER ROLE shop SET client_min_messages = error")
    let settings = PostgreSQLSettings(patience: .seconds(3))
    let place = PostgreSQLPlace(url: primary.url(), partition: "main")
    let opened = try Opened(PostgreSQLDriver(place, settings, waits: false))
    let store = try opened.store()
    try standby.stop("immediate")
    let isAway = Locked(true)
    if isCancelled {
      Thread.detachNewThread { [primary] in cancelWaits(at: primary, while: isAway) }
    }
    try expect(.busy) { try opened.group { try $0.save(version: 2, ofStore: store) } }
    var attempts = 0
    while attempts < 2 {
      if try savedGroup > opened.owner.group { attempts += 1 }
      try expect(.busy) { _ = try opened.driver.begin(as: opened.owner) }
    }
    isAway.withLock { $0 = false }
    try start()
    while true {
      let isUnsaved: Bool
      do { isUnsaved = try opened.driver.begin(as: opened.owner) } catch { continue }
      #expect(!isUnsaved)
      break
    }
    let replayed =
      "SELECT pg_last_wal_replay_lsn() >= '\(try primary.psql("SELECT pg_current_wal_flush_lsn()"))'"
    while try standby.psql(replayed) != "t" {}
    #expect(
      try standby.psql("SELECT last_group FROM dispatchstore_partitions")
        == "\(opened.owner.group + 1)")
  }

  /// Nor could the process that waits commit its take-over.
  @Test func anOwnerWhoseCommitWaitsForTheStandbyIsNotReplaced() throws {
    try start()
    defer { for server in [primary, standby] { try? server.stop("immediate") } }
    let settings = PostgreSQLSettings(lease: .seconds(3))
    let place = PostgreSQLPlace(url: primary.url(), partition: "main")
    let opened = try Opened(PostgreSQLDriver(place, settings, waits: false))
    let next = PostgreSQLDriver(place, settings, waits: true)
    let (ended, isOver) = (DispatchSemaphore(value: 0), Locked(false))
    Thread.detachNewThread {
      _ = try? next.open()
      ended.signal()
    }
    defer {
      isOver.withLock { $0 = true }
      next.cancelOpening()
      ended.wait()
    }
    try standby.stop("immediate")
    Thread.detachNewThread { [self] in
      let isLongOver = """
        SELECT lease_end < clock_timestamp() - interval '3 seconds' FROM dispatchstore_partitions
        """
      while !isOver.withLock({ $0 }) {
        guard (try? primary.psql(isLongOver)) == "t" else { continue }
        // The standby may be stopped before it is ready, once the commit of the owner has ended.
        try? start()
        return
      }
    }
    for _ in 0..<2 { try opened.group { _ in } }
  }
}

private func cancelWaits(at server: PostgreSQLServer, while isAway: Locked<Bool>) {
  while isAway.withLock({ $0 }) {
    _ = try? server.psql(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
  }
}
