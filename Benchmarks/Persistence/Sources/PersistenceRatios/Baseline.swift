import CSQLite
import DispatchStore
import Foundation

/// What a user would write instead: the same statements and the same JSON, in a loop.
final class Baseline {
  private var database: OpaquePointer?
  private let coder = JSONPersistenceCoder()
  private var upsert: OpaquePointer?

  init(_ path: String) {
    sqlite3_open(path, &database)
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192")
    run("CREATE TABLE IF NOT EXISTS owner (id INTEGER PRIMARY KEY, number INTEGER)")
    run("CREATE TABLE IF NOT EXISTS stores (number INTEGER PRIMARY KEY, version INTEGER)")
    run(
      """
      CREATE TABLE IF NOT EXISTS elements
      (store INTEGER, part INTEGER, key TEXT, value, PRIMARY KEY (store, part, key)) WITHOUT ROWID
      """)
    run("INSERT OR IGNORE INTO owner VALUES (1, 0); INSERT OR IGNORE INTO stores VALUES (1, 0)")
    var statement: OpaquePointer?
    sqlite3_prepare_v2(
      database, "INSERT OR REPLACE INTO elements VALUES (1, ?, ?, ?)", -1, &statement, nil)
    upsert = statement
  }

  deinit {
    sqlite3_finalize(upsert)
    sqlite3_close(database)
  }

  private func run(_ sql: String) {
    precondition(sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK, sql)
  }

  private func save(_ value: some Encodable, part: Int32, key: String) throws {
    let data = try coder.encode(value)
    sqlite3_bind_int(upsert, 1, part)
    key.withCString { key in
      sqlite3_bind_text(upsert, 2, key, -1, nil)
      data.withUnsafeBytes { bytes in
        let text = bytes.bindMemory(to: CChar.self).baseAddress
        sqlite3_bind_text(upsert, 3, text, Int32(bytes.count), nil)
        precondition(sqlite3_step(upsert) == SQLITE_DONE)
        sqlite3_reset(upsert)
      }
    }
  }

  /// Writes elements and the model in one transaction.
  func write(_ elements: some Sequence<(Int, Element)>, _ model: some Encodable) throws {
    run("BEGIN IMMEDIATE")
    run("UPDATE owner SET number = number + 1 WHERE id = 1")
    run("UPDATE stores SET version = version + 1 WHERE number = 1")
    try save(model, part: 0, key: "")
    for (key, element) in elements { try save(element, part: 1, key: "\(key)") }
    run("COMMIT")
  }

  /// Selects and decodes all elements.
  func load() throws -> [Int: Element] {
    var statement: OpaquePointer?
    sqlite3_prepare_v2(
      database, "SELECT key, value FROM elements WHERE store = 1 AND part = 1", -1, &statement, nil)
    defer { sqlite3_finalize(statement) }
    var elements: [Int: Element] = [:]
    while sqlite3_step(statement) == SQLITE_ROW {
      let key = Int(String(cString: sqlite3_column_text(statement, 0)))!
      let data = Data(
        bytes: sqlite3_column_blob(statement, 1), count: Int(sqlite3_column_bytes(statement, 1)))
      elements[key] = try coder.decode(Element.self, from: data)
    }
    return elements
  }
}
