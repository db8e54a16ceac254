import DispatchStore
import DispatchStorePersistence
import Foundation
import PostgreSQLServer

/// The database of the service: a file, or a database of a PostgreSQL server.
struct ServiceDatabase {
  /// The path, or the URL.
  let address: String
  private let server: PostgreSQLServer?
  private let name: String

  init(file address: String) { (self.address, server, name) = (address, nil, "") }

  /// Makes an empty database.
  init(on server: PostgreSQLServer, named name: String) throws {
    (address, self.server, self.name) = (server.url(name), server, name)
    try server.psql("CREATE DATABASE \(name)")
  }

  var isOnServer: Bool { server != nil }

  /// The database at an address, for the service.
  static func database(at address: String) -> PersistenceDatabase {
    guard address.hasPrefix("postgresql:") else { return .sqlite(path: address) }
    // The process before was killed: its lease ends with it.
    return .postgreSQL(
      url: address, waitForOwnership: true, settings: PostgreSQLSettings(lease: .seconds(5)))
  }

  /// Ends the server as in a crash, and starts it again.
  func crashServer() throws {
    try server?.stop("immediate")
    try server?.start()
  }

  /// Runs a query of the library's rows on the server: their store, part, key and value.
  func rows(_ query: String) throws -> [(store: String, part: Int, key: String, value: Data)] {
    guard let server else { return [] }
    // Before the first opening there is no table.
    let tables = try server.psql("SELECT to_regclass('dispatchstore_rows')", in: name)
    if tables.isEmpty { return [] }
    let wrapped = "SELECT json_build_array(identifier, part, key, value) FROM (\(query)) AS r"
    return try server.psql(wrapped, in: name).split(separator: "\n").compactMap { line in
      guard let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [Any],
        let store = row[0] as? String, let part = row[1] as? Int, let key = row[2] as? String,
        let value = row[3] as? String
      else { return nil }
      return (store, part, key, Data(value.utf8))
    }
  }

  func remove() throws { try server?.psql("DROP DATABASE IF EXISTS \(name) WITH (FORCE)") }
}
