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

  @discardableResult
  func psql(_ sql: String) throws -> String { try server.psql(sql, in: name) }
}

/// A driver that has opened its partition, and commits groups like `Persistence`.
final class Opened {
  let driver: PostgreSQLDriver
  var owner: PersistenceOwner

  init(_ driver: PostgreSQLDriver) throws {
    self.driver = driver
    owner = try driver.open()
  }

  /// Commits a group.
  @discardableResult
  func group<T>(_ body: (PostgreSQLDriver) throws -> T) throws -> T {
    #expect(try driver.begin(as: owner))
    do {
      let result = try body(driver)
      try driver.commit()
      owner.group += 1
      return result
    } catch {
      driver.rollback()
      throw error
    }
  }

  func store(_ identifier: String = "store") throws -> Int64 {
    try group {
      try $0.save(SavedStore(version: 1, typeName: "Shop", typeVersion: 1), identifier)
    }
  }

  func rows(_ store: Int64, part: Int = 0) throws -> [String: Data] {
    try group { driver in
      var rows: [String: Data] = [:]
      try driver.forEachRow(ofStore: store, part: part) { rows[$0] = $1 }
      return rows
    }
  }
}

/// Expects an error with a code, and parts of its message; returns the message.
@discardableResult
func expect(
  _ code: PersistenceError.Code, _ parts: String...,
  from sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) throws -> PersistenceError {
  let error = try #require(
    throws: PersistenceError.self, sourceLocation: sourceLocation, performing: body)
  #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
  for part in parts {
    #expect(error.message.contains(part), "\(error)", sourceLocation: sourceLocation)
  }
  return error
}
