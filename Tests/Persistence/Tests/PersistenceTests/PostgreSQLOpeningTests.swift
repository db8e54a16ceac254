import Foundation
import PostgreSQLServer
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

@Suite("PostgreSQL: opening", .timeLimit(.minutes(5)))
struct PostgreSQLOpeningTests {
  let database: Database

  init() throws { database = try Database() }

  @Test func refusesAPartitionWithAZeroCharacter() throws {
    try expect(.cannotOpen, "zero character") { _ = try database.driver("tenant\0b").open() }
  }

  @Test func sayWhatIsWrongWithoutThePassword() throws {
    let urls = [
      "postgresql://shop:secret@127.0.0.1:1/shop": "127.0.0.1:1",
      "postgresql://shop:secret@127.0.0.1:\(server.port)/nobody": "nobody",
      "postgresql://nobody:secret@127.0.0.1:\(server.port)/postgres": "nobody",
      "postgresql//shop:secret@host": "postgresql://user@host",
      "postgresql://shop:secret@host/a?secret=1": "can't be read",
      "postgresql://shop:a@secret@host/a": "can't be read",
      "postgresql://shop:secret@host/a\0": "can't be read",
      "postgresql://shop:secret/cret@host/a": "can't be read",
      "postgresql://shop:12/secret@host/a": "can't be read",
      "postgresql://shop:secret?cret/@host/a": "can't be read",
      "postgresql://shop:a@b:secret@host/a": "can't be read",
      "": "",
    ]
    for (url, part) in urls where !url.isEmpty {
      let error = try expect(.cannotOpen, part, "main") {
        _ = try database.driver(url: url).open()
      }
      #expect(!error.message.contains("cret"), "\(error)")
    }
  }

  @Test func nameThePlaceThatTheEnvironmentOrAServiceChooses() async {
    await #expect(processExitsWith: .success) {
      for name in ["PGSERVICE", "PGHOSTADDR", "PGUSER"] { unsetenv(name) }
      setenv("PGHOST", "db.internal", 1)
      setenv("PGPORT", "6432", 1)
      setenv("PGDATABASE", "shop", 1)
      let places = [
        "postgresql://": "\"shop\" at db.internal:6432",
        "postgresql://host/a": "\"a\" at host:6432",
        "service=prod": "\"the service's\" at the service \"prod\"",
        "service=prod dbname=a host=host": "\"a\" at host",
      ]
      for (url, text) in places {
        let description = PostgreSQLPlace(url: url, partition: "main").description
        #expect(description == "PostgreSQL database \(text), partition \"main\"")
      }
      for name in ["PGHOST", "PGPORT", "PGDATABASE"] { unsetenv(name) }
      #expect(
        PostgreSQLPlace(url: "dbname=shop", partition: "main").description
          == "PostgreSQL database \"shop\" at the local socket, partition \"main\"")
    }
  }

  @Test(arguments: [(0, 30_000), (-1, 30_000), (99, 30_000), (86_400_001, 30_000), (10_000, 0)])
  func stopsAProgramWhoseSettingsCannotWork(_ lease: Int, _ patience: Int) async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { [lease, patience] in
      let settings = PostgreSQLSettings(
        lease: .milliseconds(lease), patience: .milliseconds(patience))
      _ = PersistenceDatabase.postgreSQL(url: "postgresql://host/shop", settings: settings)
    }
    let message = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    let name = patience == 0 ? "patience" : "lease"
    #expect(message.contains("Set the \(name) of PostgreSQLSettings"))
  }

  @Test func needsRights() throws {
    try database.psql("CREATE ROLE \(database.name) LOGIN")
    try expect(.cannotOpen, "permission denied") {
      _ = try database.driver(url: server.url(database.name, user: database.name)).open()
    }
  }

  @Test func leavesAnotherProgramsTables() throws {
    try database.psql("CREATE TABLE dispatchstore_rows (a int)")
    try expect(.notADatabase, "dispatchstore_", "isn't the library's") {
      _ = try database.driver().open()
    }
    #expect(
      try database.psql(
        "SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'dispatchstore%'")
        == "1")
  }

  @Test(arguments: ["Shop", "7", "a.b", "a b", "my-app", "ä\"'"])
  func usesTheFirstSchemaWhateverItsName(_ name: String) throws {
    let quoted = "\"\(name.replacing("\"", with: "\"\""))\""
    // As it would be read without quotes.
    try database.psql("CREATE SCHEMA shop; CREATE SCHEMA \(quoted)")
    try database.psql("ALTER DATABASE \(database.name) SET search_path = \(quoted), public")
    for epoch in 1...2 {
      let opened = try Opened(database.driver())
      #expect(opened.owner.epoch == Int64(epoch))
      opened.driver.close()
    }
    #expect(
      try database.psql(
        "SELECT DISTINCT nspname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
          + "WHERE relname IN ('dispatchstore_partitions', 'dispatchstore_rows')") == name)
  }

  @Test func refusesANewerSchema() throws {
    try Opened(database.driver()).driver.close()
    try database.psql("UPDATE dispatchstore_partitions SET format = 2")
    try expect(.newerVersion, "newer version") { _ = try database.driver().open() }
    // Also if that has other columns.
    try database.psql("ALTER TABLE dispatchstore_partitions RENAME holder TO owner")
    try expect(.newerVersion, "newer version") { _ = try database.driver().open() }
  }

  @Test func refusesAColumnThatItDoesNotKnow() throws {
    try Opened(database.driver()).driver.close()
    try database.psql("ALTER TABLE dispatchstore_partitions ADD backend integer")
    try expect(.notADatabase, "another column \"backend\"") { _ = try database.driver().open() }
  }

  @Test(arguments: ["fsync", "full_page_writes", "synchronous_commit"])
  func refusesAServerThatDoesNotSync(_ setting: String) throws {
    let unsafe = try PostgreSQLServer(in: "\(server.folder)/\(freePort())")
    try unsafe.start("\(setting)=off")
    defer { try? unsafe.stop("immediate") }
    try expect(.notDurable, setting) { _ = try database.driver(url: unsafe.url()).open() }
    let settings = PostgreSQLSettings(maySkipSync: true)
    _ = try Opened(database.driver(url: unsafe.url(), settings: settings)).store()
  }

  @Test(arguments: ["LATIN1", "SQL_ASCII"])
  func refusesAnotherEncoding(_ encoding: String) throws {
    let name = "\(database.name)_\(encoding.lowercased())"
    try server.psql("CREATE DATABASE \(name) ENCODING '\(encoding)' LOCALE 'C' TEMPLATE template0")
    try expect(.notADatabase, encoding) { _ = try database.driver(url: server.url(name)).open() }
  }

  @Test func sendsUTF8WhateverTheURLSays() throws {
    let url = "\(database.url)?client_encoding=LATIN1"
    let opened = try Opened(database.driver(url: url))
    let store = try opened.store()
    try opened.group {
      try $0.save(Data("1".utf8), at: SavedRow(part: 0, key: "ä€😀"), ofStore: store)
    }
    #expect(try database.psql("SELECT length(key) FROM dispatchstore_rows") == "3")
    #expect(try opened.rows(store) == ["ä€😀": Data("1".utf8)])
  }

  @Test func refusesAStandby() throws {
    let standby = try PostgreSQLServer(in: "\(server.folder)/\(freePort())")
    try standby.touch("standby.signal")
    try standby.start("hot_standby=on")
    defer { try? standby.stop("immediate") }
    try expect(.cannotOpen, "standby") { _ = try database.driver(url: standby.url()).open() }
  }
}
