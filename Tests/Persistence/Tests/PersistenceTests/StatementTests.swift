import Foundation
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

@Suite struct StatementTests {
  let folder: Folder
  let opened: Opened<SQLiteDriver>

  init() throws {
    folder = try Folder()
    opened = try Opened(folder.driver())
    try opened.group { _ = try $0.execute("CREATE TABLE mine (id INTEGER PRIMARY KEY, a)", []) }
  }

  func query(_ sql: String, _ values: DatabaseValue...) throws -> [[DatabaseValue]] {
    try opened.group { try $0.query(sql, values) }
  }

  @discardableResult
  func execute(_ sql: String, _ values: DatabaseValue...) throws -> Int {
    try opened.group { try $0.execute(sql, values) }
  }

  static let values: [DatabaseValue] = [
    nil, 5, .integer(.min), 2.5, .real(-.infinity), "", "a\0ż", .blob(Data()),
    .blob(Data([0, 0xFF])),
  ]

  @Test(arguments: values)
  func aValueIsReadAsItWasBound(_ value: DatabaseValue) throws {
    try execute("INSERT INTO mine (a) VALUES (?)", value)
    #expect(try query("SELECT a, ? FROM mine", value) == [[value, value]])
  }

  @Test func changedRowsAreCounted() throws {
    #expect(try execute("INSERT INTO mine (a) VALUES (1), (1), (2)") == 3)
    #expect(try execute("CREATE TABLE other (a)") == 0)
    #expect(try execute("UPDATE mine SET a = 3 WHERE a = 1") == 2)
    #expect(try execute("SELECT * FROM mine") == 0)
    #expect(try execute("DELETE FROM mine WHERE a = 1") == 0)
    #expect(try execute("DELETE FROM mine") == 3)
  }

  @Test func aWrongNumberOfValuesIsNamed() throws {
    try expect(.statement, "it has 2 parameters, but 1 values", "SELECT ?, ?") {
      _ = try query("SELECT ?, ?", 1)
    }
    try expect(.statement, "it has 0 parameters, but 1 values") { try execute("SELECT 1", 1) }
    #expect(try query("SELECT ?, ?", 1, 2) == [[1, 2]])
  }

  @Test func aNumberedParameterHasTheValueOfItsNumber() throws {
    #expect(try query("SELECT $2, $1, $2", 1, 2) == [[2, 1, 2]])
    #expect(try query("SELECT $2::int, $1, $1::int", 1, 2) == [[2, 1, 1]])
    #expect(try query("SELECT ?2, ?1", 1, 2) == [[2, 1]])
    #expect(try query("SELECT :b, :a", 1, 2) == [[1, 2]])
    try expect(.statement, "it has 2 parameters, but 1 values") { _ = try query("SELECT $2", 1) }
  }

  @Test(arguments: ["SELECT 1; SELECT 2", "SELECT 1; nonsense", "SELECT 1;; -- a\n COMMIT"])
  func aTextWithTwoStatementsIsRefused(_ sql: String) throws {
    try expect(.statement, "more than one statement", sql) { _ = try query(sql) }
  }

  @Test(arguments: ["SELECT 1;", " /* a */ SELECT 1 ; ; -- b", "SELECT 1 -- c"])
  func commentsAndSemicolonsAreNoStatements(_ sql: String) throws {
    #expect(try query(sql) == [[1]])
  }

  @Test(arguments: ["", " ; ", "-- nothing"])
  func aTextWithoutAStatementIsRefused(_ sql: String) throws {
    try expect(.statement, "no statement") { try execute(sql) }
  }

  @Test func aZeroByteDoesntHideTheRest() throws {
    try expect(.statement, "zero byte") { try execute("SELECT 1 \0; DROP TABLE mine") }
  }

  @Test(arguments: [
    ("BEGIN", "BEGIN"), ("begin exclusive", "BEGIN"), ("COMMIT", "COMMIT"), ("END", "COMMIT"),
    ("/* x */ ROLLBACK", "ROLLBACK"), ("SAVEPOINT a", "SAVEPOINT"), ("RELEASE a", "SAVEPOINT"),
    ("ROLLBACK TO a", "SAVEPOINT"), ("ATTACH ':memory:' AS a", "ATTACH"),
    ("DETACH a", "DETACH"), ("PRAGMA synchronous = OFF", "PRAGMA"),
    ("pragma main.journal_mode(delete)", "PRAGMA"),
  ])
  func theTransactionAndTheConnectionAreTheLibrarys(_ sql: String, _ name: String) throws {
    try expect(.statement, "\(name) isn't permitted", sql) { try execute(sql) }
    #expect(try query("SELECT * FROM pragma_synchronous") == [[2]])
  }

  @Test(arguments: [
    "INSERT INTO dispatchstore_rows VALUES (1, 1, 'a', 1)", "DELETE FROM DispatchStore_Owner",
    "UPDATE main.dispatchstore_stores SET version = 1", "DROP TABLE dispatchstore_rows",
    "ALTER TABLE dispatchstore_rows ADD COLUMN a", "CREATE TABLE dispatchstore_mine (a)",
    "CREATE TEMP TABLE dispatchstore_rows (a)", "CREATE VIEW dispatchstore_view AS SELECT 1",
    "CREATE INDEX mine_index ON dispatchstore_stores (version)",
    "CREATE TRIGGER t AFTER INSERT ON dispatchstore_rows BEGIN SELECT 1; END",
    "WITH a AS (SELECT 1) REPLACE INTO dispatchstore_rows SELECT 1, 1, 'a', 1 FROM a",
  ])
  func theLibrarysTablesCantBeChanged(_ sql: String) throws {
    try expect(.statement, "can't be changed", "dispatchstore_", sql) { try execute(sql) }
  }

  @Test func aTriggerCantChangeTheLibrarysTablesWhichCanBeRead() throws {
    let insert = "INSERT INTO mine (a) VALUES (1)"
    // The statement is compiled before there is a trigger, and again when it runs after that.
    try execute(insert)
    try execute(
      """
      CREATE TRIGGER t AFTER INSERT ON mine BEGIN DELETE FROM dispatchstore_owner; END
      """)
    try expect(.statement, "\"dispatchstore_owner\" can't be changed") { try execute(insert) }
    #expect(try query("SELECT epoch FROM dispatchstore_owner") == [[1]])
  }

  @Test func virtualTablesWork() throws {
    for module in ["fts4", "fts5"] {
      try execute("CREATE VIRTUAL TABLE \(module)_table USING \(module) (text)")
      try execute("INSERT INTO \(module)_table VALUES (?)", "the quick fox")
      let sql = "SELECT text FROM \(module)_table WHERE \(module)_table MATCH 'quick'"
      #expect(try query(sql) == [["the quick fox"]])
    }
    // Their modules have statements of their own, which only they may finalize.
    opened.driver.close()
    #expect(try folder.driver().open().epoch == 2)
  }

  @Test func theUsersTablesCanBeChangedInAllWays() throws {
    try execute("ALTER TABLE mine ADD COLUMN dispatchstore_note")
    try execute("INSERT INTO mine (dispatchstore_note) VALUES ('a')")
    try execute("UPDATE mine SET dispatchstore_note = 'b'")
    try execute("CREATE INDEX mine_index ON mine (dispatchstore_note)")
    try execute("ALTER TABLE mine RENAME TO yours")
    #expect(try query("SELECT dispatchstore_note FROM yours") == [["b"]])
    try execute("DROP TABLE yours")
    try expect(.statement, "cannot VACUUM") { try execute("VACUUM") }
  }

  @Test func aFailureNamesTheStatement() throws {
    try expect(.statement, "no such table: other", "(SQLite error 1)", "FROM other") {
      _ = try query("SELECT * FROM other")
    }
    try execute("INSERT INTO mine VALUES (1, 1)")
    let insert = "INSERT INTO mine VALUES (?, 2)"
    try expect(.statement, "UNIQUE constraint", "(SQLite error 1555)", insert, folder.database) {
      try execute(insert, 1)
    }
    // The statement can be used again after that.
    #expect(try execute(insert, 2) == 1)
  }

  @Test func aFailedStatementLeavesTheRestOfTheTransaction() throws {
    try opened.group { driver in
      _ = try driver.execute("INSERT INTO mine VALUES (1, 1)", [])
      #expect(throws: PersistenceError.self) {
        try driver.execute("INSERT INTO mine VALUES (1, 2)", [])
      }
    }
    #expect(try query("SELECT a FROM mine") == [[1]])
  }

  @Test func manyStatementsShareASmallCache() throws {
    try opened.group { driver in
      for round in 0..<2 {
        for number in 0..<200 {
          let rows = try driver.query("SELECT \(number), ?", [5])
          #expect(rows == [[.integer(Int64(number)), 5]])
        }
        _ = try driver.execute("CREATE TABLE table\(round) (a)", [])
      }
    }
  }

  @Test func aStatementRunsInTheUnicodeFormInWhichItIsWritten() throws {
    for text in ["caf\u{E9}", "cafe\u{301}", "caf\u{E9}"] {
      let bytes = text.utf8.map { String(format: "%02X", $0) }.joined()
      #expect(try query("SELECT hex('\(text)')") == [[.text(bytes)]])
    }
  }

  @Test func theCacheForgetsTheStatementThatWasNotUsedForLongest() throws {
    let connection = try SQLiteConnection(path: folder.file("other.db"))
    var cache = StatementCache(capacity: 2)
    var prepared: [String] = []
    for sql in ["SELECT 1", "SELECT 2", "SELECT 1", "SELECT 3", "SELECT 1", "SELECT 2"] {
      _ = try cache.statement(sql) {
        prepared.append($0)
        return try connection.prepare(user: $0)
      }
    }
    #expect(prepared == ["SELECT 1", "SELECT 2", "SELECT 3", "SELECT 2"])
    #expect(cache.count == 2)
  }
}
