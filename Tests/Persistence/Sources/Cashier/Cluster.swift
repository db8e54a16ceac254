import Foundation
import PostgreSQLServer

/// The server of the rounds, and the proxy before it, perhaps with a pooler between them.
final class Cluster {
  private(set) var server: PostgreSQLServer
  let proxy: Proxy
  private let pooler: Pooler?
  private let folder: String
  private var copies = 0
  private(set) var restarts = 0
  private(set) var replacements = 0

  /// Starts a server in a new folder.
  init(isPooled: Bool) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cashier-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    server = try PostgreSQLServer(in: "\(folder)/0")
    try server.start()
    pooler = isPooled ? try Pooler(to: server.port, in: "\(folder)/pooler") : nil
    proxy = Proxy(to: pooler?.port ?? server.port)
  }

  /// The URL of a database, by way of the proxy.
  func url(_ database: String) -> String { server.url(database, port: proxy.port) }

  /// Ends the server, `immediate` as in a crash, and starts it again.
  func restart(_ mode: String) throws {
    restarts += 1
    try server.stop(mode)
    try server.start()
  }

  /// Begins the pooler anew, so that all connections are lost.
  func restartPooler() throws { try pooler?.lead(to: server.port) }

  /// A copy of the server, as it was at some moment.
  struct Copy {
    let server: PostgreSQLServer
    let isStandby: Bool
  }

  /// Makes a backup, or a standby that follows the server.
  func copy(isStandby: Bool) throws -> Copy {
    copies += 1
    let copy = try PostgreSQLServer(copyOf: server, in: "\(folder)/\(copies)", isStandby: isStandby)
    if isStandby { try copy.start() }
    return Copy(server: copy, isStandby: isStandby)
  }

  /// Lets a standby follow no longer.
  func detach(_ copy: Copy) throws {
    guard copy.isStandby else { return }
    try copy.server.psql("ALTER SYSTEM SET primary_conninfo TO ''")
    try copy.server.psql("SELECT pg_reload_conf()")
  }

  /// Lets each commit wait for a standby.
  func attach(_ standby: Copy) throws {
    try server.psql("ALTER SYSTEM SET synchronous_standby_names TO '*'")
    try server.psql("SELECT pg_reload_conf()")
    while try server.psql("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'") != "1" {}
  }

  /// Makes a copy after which nothing is saved.
  func quietCopy(isStandby: Bool) throws -> Copy {
    if !isStandby {
      try freeze()
      return try copy(isStandby: false)
    }
    let copy = try copy(isStandby: true)
    try freeze()
    let end = try server.psql("SELECT pg_current_wal_flush_lsn()")
    while try copy.server.psql("SELECT pg_last_wal_replay_lsn() >= '\(end)'") != "t" {}
    return copy
  }

  private func freeze() throws {
    proxy.freeze()
    pooler?.stop()
    try server.psql(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'DispatchStore'"
    )
  }

  /// Ends the server as if its machine had died, and puts a copy in its place.
  func replace(by copy: Copy) throws {
    replacements += 1
    try server.stop("immediate")
    if copy.isStandby {
      try copy.server.psql("SELECT pg_promote()")
    } else {
      try copy.server.start()
    }
    try? FileManager.default.removeItem(atPath: server.folder)
    server = copy.server
    try restartPooler()
    proxy.lead(to: pooler?.port ?? server.port)
  }

  func remove() {
    pooler?.stop()
    try? server.stop("immediate")
    try? FileManager.default.removeItem(atPath: folder)
  }
}
