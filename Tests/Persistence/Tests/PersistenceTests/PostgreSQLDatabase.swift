import Foundation
import PostgreSQLServer
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

/// The server of all tests, which ends with them.
enum DatabaseServer {
  static let present: PostgreSQLServer = {
    let folder = FileManager.default.temporaryDirectory.appending(path: "postgresql-\(UUID())").path
    do {
      let server = try PostgreSQLServer(in: folder)
      try server.start()
      atexit {
        try? DatabaseServer.present.stop("immediate")
        try? FileManager.default.removeItem(atPath: DatabaseServer.present.folder)
      }
      return server
    } catch {
      fatalError("\(error)")
    }
  }()
}

var server: PostgreSQLServer { DatabaseServer.present }

/// A database of a test's own.
struct Database {
  let name = "test_\(UUID().uuidString.lowercased().replacing("-", with: ""))"

  init() throws { try server.psql("CREATE DATABASE \(name)") }

  var url: String { server.url(name) }

  func driver(
    _ partition: String = "main", url: String? = nil, waits: Bool = false,
    settings: PostgreSQLSettings = PostgreSQLSettings()
  ) -> PostgreSQLDriver {
    PostgreSQLDriver(
      PostgreSQLPlace(url: url ?? self.url, partition: partition), settings, waits: waits)
  }

  /// A driver whose statements a closure sees before they are sent; it may fail in place of the server.
  ///
  /// - Parameter now: The driver's clock; nil for the system's.
  func driver(
    waits: Bool = false, settings: PostgreSQLSettings = PostgreSQLSettings(),
    now: (@Sendable () -> Duration)? = nil,
    watch: @escaping @Sendable ([PostgreSQLStatement]) throws(PostgreSQLFailure) -> Void
  ) -> PostgreSQLDriver {
    let place = PostgreSQLPlace(url: url, partition: "main")
    let client = WatchedClient(
      client: LibPQClient(place: place, settings: settings), clock: now, watch: watch)
    return PostgreSQLDriver(client, place, lease: settings.lease, waits: waits)
  }

  /// Ends the connections of the library's, as a broken network does.
  func endConnections() throws {
    try server.psql(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '\(name)'")
  }

  /// Lets new sessions only read, or write as well.
  func onlyReads(_ onlyReads: Bool) throws {
    try server.psql("ALTER DATABASE \(name) SET default_transaction_read_only = \(onlyReads)")
  }

  /// Lets the database be reached or not, as a server that is away.
  func allowConnections(_ areAllowed: Bool) throws {
    try server.psql("ALTER DATABASE \(name) ALLOW_CONNECTIONS \(areAllowed)")
    if !areAllowed { try endConnections() }
  }

  @discardableResult
  func psql(_ sql: String) throws -> String { try server.psql(sql, in: name) }
}

private struct WatchedClient: PostgreSQLClient {
  let client: LibPQClient
  let clock: (@Sendable () -> Duration)?
  let watch: @Sendable ([PostgreSQLStatement]) throws(PostgreSQLFailure) -> Void

  var holder: String { client.holder }
  func isDead(_ holder: PostgreSQLHolder) -> Bool { client.isDead(holder) }
  var now: Duration { clock?() ?? client.now }

  func pause(for time: Duration) { client.pause(for: time) }

  func connect() throws(PostgreSQLFailure) -> any PostgreSQLConnection {
    WatchedConnection(try client.connect(), watch)
  }
}

private final class WatchedConnection: PostgreSQLConnection {
  private let connection: any PostgreSQLConnection
  private let watch: @Sendable ([PostgreSQLStatement]) throws(PostgreSQLFailure) -> Void

  init(
    _ connection: any PostgreSQLConnection,
    _ watch: @escaping @Sendable ([PostgreSQLStatement]) throws(PostgreSQLFailure) -> Void
  ) {
    (self.connection, self.watch) = (connection, watch)
  }

  var isInTransaction: Bool { connection.isInTransaction }

  func run(_ statements: [PostgreSQLStatement]) throws(PostgreSQLFailure)
    -> [any PostgreSQLResult]
  {
    try watch(statements)
    return try connection.run(statements)
  }
}
