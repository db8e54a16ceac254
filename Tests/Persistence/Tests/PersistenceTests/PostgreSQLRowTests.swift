import Foundation
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

private struct Sum: ModelType, Codable { var value = 0 }
private struct Add: CodableAction { let amount: Int }
private struct Notes: ModelType, Codable { var all = TrackedDictionary<String, Int>() }

@Suite("PostgreSQL: rows", .timeLimit(.minutes(5)))
struct PostgreSQLRowTests {
  let database: Database

  init() throws { database = try Database() }

  private func row(_ key: String, part: Int = 0) -> SavedRow { SavedRow(part: part, key: key) }

  @Test func areReadAsTheyWereSaved() throws {
    let opened = try Opened(database.driver())
    let store = try opened.store()
    let keys = [
      "", "a", "\0", "\\0", "\\", "a\0b\\", "'; DROP TABLE", "ä€😀\n\"{},", "NULL", "\\\u{301}",
      "\u{600}\\",
    ]
    let values = ["{}", "", "null", "\u{1}\n\\\"", "{\"a\\u0000\":1e400}", "\0"].map {
      Data($0.utf8)
    }
    var expected: [String: Data] = [:]
    try opened.group { driver in
      for (index, key) in keys.enumerated() {
        expected[key] = index < values.count ? values[index] : Data([0xFF, 0, UInt8(index)])
        try driver.save(expected[key], at: row(key), ofStore: store)
        try driver.save(Data("x".utf8), at: row(key, part: 1), ofStore: store)
      }
    }
    #expect(try opened.rows(store) == expected)
    try opened.group { driver in
      for key in keys.dropFirst(2) { try driver.save(nil, at: row(key), ofStore: store) }
      try driver.save(Data("2".utf8), at: row("a"), ofStore: store)
    }
    #expect(try opened.rows(store) == ["": Data("{}".utf8), "a": Data("2".utf8)])
    #expect(try opened.rows(store, part: 1).count == keys.count)
    #expect(try opened.group { try $0.lastPart(ofStore: store) } == 1)
  }

  @Test func theLastChangeOfAGroupCounts() throws {
    let opened = try Opened(database.driver())
    let store = try opened.store()
    try opened.group { driver in
      try driver.save(Data("1".utf8), at: row("a"), ofStore: store)
      try driver.save(nil, at: row("a"), ofStore: store)
      try driver.save(nil, at: row("b"), ofStore: store)
      try driver.save(Data("2".utf8), at: row("b"), ofStore: store)
      // Reads see what the group has changed.
      var keys: [String] = []
      try driver.forEachRow(ofStore: store, part: 0) { key, _ in keys.append(key) }
      #expect(keys == ["b"])
      try driver.save(Data("3".utf8), at: row("c"), ofStore: store)
    }
    #expect(try opened.rows(store) == ["b": Data("2".utf8), "c": Data("3".utf8)])
  }

  @Test func areSavedAlthoughAStatementOfTheUsersFailsWhoseErrorIsCaught() throws {
    let opened = try Opened(database.driver())
    let store = try opened.store()
    try opened.group { driver in
      try driver.save(Data("1".utf8), at: row("a"), ofStore: store)
      for sql in ["SELECT 1/0", "no statement", "SELECT * FROM nowhere"] {
        #expect(throws: PersistenceError.self) { try driver.query(sql, []) }
      }
      #expect(try driver.query("SELECT 7", []) == [[.integer(7)]])
      try driver.save(Data("2".utf8), at: row("b"), ofStore: store)
    }
    #expect(try opened.rows(store) == ["a": Data("1".utf8), "b": Data("2".utf8)])
  }

  @Test func areSavedAgainIfTheConnectionIsLostWhileAStatementOfTheUsersIsUndone() throws {
    let isCut = Locked(false)
    let driver = database.driver { (statements) throws(PostgreSQLFailure) in
      guard isCut.withLock(\.self), case .rollbackToSavepoint? = statements.first else { return }
      throw PostgreSQLFailure(sqlState: "08006", message: "cut", isLost: true)
    }
    let opened = try Opened(driver)
    let store = try opened.store()
    func save() throws {
      try opened.group { driver in
        try driver.save(Data("1".utf8), at: row("a"), ofStore: store)
        _ = try? driver.query("SELECT 1/0", [])
      }
    }
    isCut.withLock { $0 = true }
    let failure = try expect(.busy, "cut") { try save() }
    #expect(failure.isTransient)
    isCut.withLock { $0 = false }
    try save()
    #expect(try opened.rows(store) == ["a": Data("1".utf8)])
  }

  /// A key that is too large, also compressed.
  private var keyThatTheIndexRefuses: String {
    (0..<8_000).map { _ in String(UInt8.random(in: 0...99)) }.joined(separator: "-")
  }

  @Test func areNotAcknowledgedIfTheLibrarysOwnStatementHasFailed() throws {
    let opened = try Opened(database.driver())
    let store = try opened.store()
    let long = keyThatTheIndexRefuses
    #expect(throws: PersistenceError.self) {
      try opened.group { driver in
        try driver.save(Data("1".utf8), at: row(long), ofStore: store)
        _ = try? driver.query("SELECT 7", [])
        _ = try? driver.query("SELECT 7", [])
      }
    }
    #expect(try opened.rows(store).isEmpty)
    try opened.group { try $0.save(Data("2".utf8), at: row("b"), ofStore: store) }
    #expect(try opened.rows(store) == ["b": Data("2".utf8)])
  }

  /// The server refuses them only with the commit, and the store has changed meanwhile.
  @Test func ofAFirstRegistrationThatAreRefusedDoNotEndSaving() async throws {
    let change = Locked<(@Sendable () -> Void)?>(nil)
    let persistence = try await Persistence(
      .postgreSQL(url: database.url), coder: WatchedCoder { change.exchange(nil)?() })
    let dispatcher = Dispatcher(name: "shop", persistence: persistence)
    let long = keyThatTheIndexRefuses
    for number in 0..<20 {
      let store = Store<Notes, HandledAction>(identifier: "notes \(number)", model: Notes()) {
        On(Add.self) { notes, add in notes.all["a"] = add.amount }
      }
      store.updateModel { $0.all[long] = 1 }
      change.withLock { $0 = { store.updateModel { $0.all["b"] = 1 } } }
      let error = await #expect(throws: PersistenceError.self) {
        try await dispatcher.register(store: store, persisted: .elements(\.all))
      }
      #expect(error?.code == .statement)
    }
    try await persistence.flush()
    #expect(!persistence.status.hasFailed)
    try await persistence.close()
  }

  /// The server closes the connection at a message of 1 GiB.
  @Test func ofALargeGroupAreSentInSeveralMessages() throws {
    let largest = Locked(0)
    let driver = database.driver { statements in
      var size = 0
      for case .saveRows(let rows) in statements { size += rows.reduce(0) { $0 + $1.value.count } }
      largest.withLock { $0 = max($0, size) }
    }
    let opened = try Opened(driver)
    let store = try opened.store()
    try opened.group { driver in
      try driver.save(version: 2, ofStore: store)
      for number in 0..<40 {
        try driver.save(Data(count: 1 << 20), at: row("\(number)"), ofStore: store)
      }
    }
    #expect(largest.withLock { $0 } <= 17 << 20)
    #expect(try opened.rows(store).count == 40)
    #expect(try opened.group { try $0.store("store") }?.version == 2)
  }

  @Test func areReadInPages() throws {
    let pages = Locked(0)
    let driver = database.driver { statements in
      for case .rows in statements { pages.withLock { $0 += 1 } }
    }
    let opened = try Opened(driver)
    let store = try opened.store()
    for numbers in [0..<6_000, 6_000..<12_000] {
      try opened.save(numbers, ofStore: store) { Data("\($0)".utf8) }
    }
    let rows = try opened.rows(store)
    #expect(rows.count == 12_000)
    #expect(rows.allSatisfy { Data($0.key.utf8) == $0.value })
    #expect((2...10).contains(pages.withLock(\.self)))
  }

  /// While a page is on its way, the server ends idle transactions of a database that the rows are copied to.
  @Test func largeOnesAreReadInSmallPages() throws {
    let limits = Locked<[Int]>([])
    let driver = database.driver { statements in
      for case .rows(_, _, _, let limit) in statements { limits.withLock { $0.append(limit) } }
    }
    let opened = try Opened(driver)
    let store = try opened.store()
    // One small row among large ones does not make the next page large.
    let sizes = (0..<40).map { $0 == 20 ? 1 : 1 << 20 }
    try opened.save(10..<50, ofStore: store) { Data(count: sizes[$0 - 10]) }
    #expect(try opened.rows(store).count == 40)
    var rest = sizes[...]
    let pages = limits.withLock(\.self).map { limit in
      defer { rest = rest.dropFirst(limit) }
      return rest.prefix(limit).reduce(0, +)
    }
    #expect(rest.isEmpty && pages[0] <= 8 << 20)
    #expect(pages.dropFirst().allSatisfy { $0 <= 4 << 20 })
  }

  /// During one statement that takes longer than the lease, another process could take over.
  @Test func ofALargeStoreAreDeletedInSeveralStatements() throws {
    let largest = Locked(0)
    let driver = database.driver { statements in
      for case .deleteRows(let rows) in statements {
        largest.withLock { $0 = max($0, rows.count) }
      }
    }
    let opened = try Opened(driver)
    let (store, other) = (try opened.store("a"), try opened.store("b"))
    try opened.group { driver in
      for number in 0..<14_000 {
        let place = row("\(number)\\", part: number % 2)
        try driver.save(Data("1".utf8), at: place, ofStore: store)
        try driver.save(Data("1".utf8), at: place, ofStore: other)
      }
    }
    try opened.group { try $0.delete(store: store) }
    #expect((1...5_000).contains(largest.withLock(\.self)))
    let left = try database.psql("SELECT count(*), min(store), max(store) FROM dispatchstore_rows")
    #expect(left == "14000|\(other)|\(other)")
  }

  /// As after a copy: the server has not analysed the table, and takes few of its rows for the store's.
  @Test func areReadOnceEachAlthoughTheServerTakesTheStoreForASmallOne() throws {
    let opened = try Opened(database.driver())
    let store = try opened.store()
    try database.psql("ALTER TABLE dispatchstore_rows SET (autovacuum_enabled = off)")
    try opened.save(0..<12_000, ofStore: store)
    try database.psql(
      "UPDATE pg_class SET relpages = 1, reltuples = 20000 WHERE relname = 'dispatchstore_rows'")
    let counts = try opened.group { driver in
      let count = "SELECT pg_stat_get_xact_tuples_returned('dispatchstore_rows_pkey'::regclass)"
      let before = try driver.query(count, [])
      try driver.forEachRow(ofStore: store, part: 0) { _, _ in }
      return try before + driver.query(count, [])
    }
    guard case .integer(let before) = counts[0][0], case .integer(let after) = counts[1][0] else {
      Issue.record("\(counts)")
      return
    }
    #expect(after - before == 12_000)
  }

  /// A further exchange with the server for each of their groups would hold the partition's row for longer.
  @Test func ofKeysAreSavedWithoutAskingForTheirStoreAgain() async throws {
    let lookups = Locked(0)
    let driver = database.driver { statements in
      for case .findStore(let identifier, _) in statements
      where identifier == WorkRows.storeIdentifier {
        lookups.withLock { $0 += 1 }
      }
    }
    let persistence = try await Persistence(
      PersistenceDatabase { driver }, actions: ActionCoder(Add.self))
    let dispatcher = Dispatcher(name: "shop", persistence: persistence)
    try await dispatcher.register(
      store: Store(identifier: "sum", model: Sum()) {
        On(Add.self) { sum, add in sum.value += add.amount }
      }, persisted: .model)
    for key in ["a", "b", "c"] {
      let result = await dispatcher.send(Add(amount: 1), options: .idempotencyKey(key)).result
      #expect(result.isSuccess)
    }
    try await persistence.close()
    // When the database was opened, and with the first key.
    #expect(lookups.withLock(\.self) == 2)
    let rows = """
      SELECT count(*) FROM dispatchstore_rows JOIN dispatchstore_stores ON store = number
      WHERE identifier = '\(WorkRows.storeIdentifier)'
      """
    #expect(try database.psql(rows) == "3")
  }

  @Test func storesKeepTheirNumbersAndVersions() throws {
    let opened = try Opened(database.driver())
    let first = try opened.store("a")
    #expect(try opened.store("b") != first)
    try opened.group { try $0.save(version: .max, ofStore: first) }
    opened.driver.close()
    let again = try Opened(database.driver())
    let found = try again.group { try $0.store("a") }
    #expect(found == SavedStore(number: first, version: .max, typeName: "Shop", typeVersion: 1))
    try again.group { try $0.delete(store: first) }
    #expect(try again.group { try $0.store("a") } == nil)
    try expect(.corrupt, "lost the row of a store") {
      try again.group { try $0.save(version: 3, ofStore: first) }
    }
  }

  @Test func storesKeepTheNamesOfTheirTypes() throws {
    let opened = try Opened(database.driver())
    for name in ["a\0b\\", "\\0", "ä\\\u{301}"] {
      let store = SavedStore(version: 1, typeName: name, typeVersion: Int(Int32.max))
      let number = try opened.group { try $0.save(store, name) }
      let found = try opened.group { try $0.store(name) }
      #expect(
        found
          == SavedStore(number: number, version: 1, typeName: name, typeVersion: Int(Int32.max)))
    }
  }

  @Test func areNotSavedIfTheRowOfAStoreIsLost() throws {
    let opened = try Opened(database.driver())
    let (first, second) = (try opened.store("a"), try opened.store("b"))
    try database.psql("DELETE FROM dispatchstore_stores WHERE identifier = 'b'")
    let failure = try expect(.corrupt, "lost the row of a store") {
      try opened.group { driver in
        for store in [first, second] {
          try driver.save(version: 2, ofStore: store)
          try driver.save(Data("1".utf8), at: row("a"), ofStore: store)
        }
      }
    }
    #expect(failure.isOutcomeKnown)
    #expect(try opened.rows(first).isEmpty)
    #expect(try opened.group { try $0.store("a") }?.version == 1)
  }

  @Test func partitionsShareADatabase() throws {
    let (one, other) = (try Opened(database.driver("a")), try Opened(database.driver("b")))
    let (first, second) = (try one.store(), try other.store())
    try one.group { try $0.save(Data("1".utf8), at: row(""), ofStore: first) }
    #expect(try other.rows(second) == [:])
    #expect(try database.psql("SELECT count(*) FROM dispatchstore_partitions") == "2")
  }

  /// The last one is recognised only once the server has begun it.
  @Test(arguments: [
    "COPY (SELECT 1) TO STDOUT", "COPY mine FROM STDIN",
    #"COPY (SELECT E'\'') TO STDOUT WITH (DELIMITER ',')"#,
  ])
  func aCopyOfTheUsersIsRefused(_ sql: String) throws {
    let opened = try Opened(database.driver())
    try opened.group { _ = try $0.execute("CREATE TABLE mine (a bigint)", []) }
    let failure = try expect(.statement, "connection of its own", sql) {
      try opened.group { _ = try $0.execute(sql, []) }
    }
    #expect(failure.isOutcomeKnown && !failure.isTransient)
    #expect(try opened.group { try $0.query("SELECT count(*) FROM mine", []) } == [[0]])
  }

  @Test(arguments: [
    "COPY mine FROM STDIN", "/* a */ copy (SELECT 'it''s') TO -- the user's\n stdout;",
  ])
  func areSavedAlthoughACopyOfTheUsersIsRefusedWhoseErrorIsCaught(_ sql: String) throws {
    let opened = try Opened(database.driver())
    let store = try opened.store()
    try opened.group { driver in
      _ = try driver.execute("CREATE TABLE mine (a bigint)", [])
      #expect(throws: PersistenceError.self) { try driver.execute(sql, []) }
      try driver.save(Data("1".utf8), at: row("a"), ofStore: store)
    }
    #expect(try opened.rows(store) == ["a": Data("1".utf8)])
  }

  @Test func aCopyOfTheUsersThatHasBegunEndsTheGroupAlthoughItsErrorIsCaught() throws {
    let opened = try Opened(database.driver())
    let sql = #"COPY (SELECT E'\'') TO STDOUT WITH (DELIMITER ',')"#
    let failure = try expect(.statement, "connection of its own") {
      try opened.group { _ = try? $0.execute(sql, []) }
    }
    #expect(!failure.isTransient)
    try opened.group { _ in }
  }

  @Test(arguments: [
    "COPY mine TO '/tmp/stdout'", "COPY mine FROM '/a' -- no STDIN", "SELECT stdin",
  ])
  func aCopyFromOrToAFileIsNotRefused(_ sql: String) {
    #expect(!PostgreSQLStatement.copiesFromOrToClient(sql))
  }

  @Test(arguments: [
    "COPY (SELECT '\u{301}') TO STDOUT --'", "COPY mine TO --\u{2028}'\nSTDOUT --'",
  ])
  func aCopyToTheClientIsFoundWhateverItsTextsHave(_ sql: String) {
    #expect(PostgreSQLStatement.copiesFromOrToClient(sql))
  }

  @Test(arguments: ["hex", "escape"])
  func theUsersBytesAreReadInEitherFormat(_ format: String) throws {
    try database.psql("ALTER DATABASE \(database.name) SET bytea_output = '\(format)'")
    let opened = try Opened(database.driver())
    for bytes in [Data([0, 0x5C, 0x41, 0xFF]), Data()] {
      let rows = try opened.group { try $0.query("SELECT $1::bytea", [.blob(bytes)]) }
      #expect(rows == [[.blob(bytes)]])
    }
  }

  @Test(arguments: [-15, 0, 3])
  func theUsersNumbersAreReadWithAllTheirDigits(_ extraDigits: Int) throws {
    try database.psql("ALTER DATABASE \(database.name) SET extra_float_digits = \(extraDigits)")
    let opened = try Opened(database.driver())
    let sum = try opened.group { try $0.query("SELECT 0.1::float8 + 0.2::float8", []) }
    #expect(sum == [[.real(0.1 + 0.2)]])
  }

  @Test func theUsersStatementsAreInTheTransaction() throws {
    let opened = try Opened(database.driver())
    let sql =
      "CREATE TABLE mine (a bigint PRIMARY KEY, b text, c bytea, d float8, e boolean, f numeric)"
    #expect(try opened.group { try $0.execute(sql, []) } == 0)
    let values: [DatabaseValue] = [1, "ä", .blob(Data([0, 255])), 0.5, 1, 12]
    let insert = "INSERT INTO mine VALUES ($1, $2, $3, $4, $5, $6)"
    #expect(try opened.group { try $0.execute(insert, values) } == 1)
    #expect(try opened.group { try $0.query("SELECT * FROM mine", []) } == [values])
    let failure = try expect(.statement, "duplicate key", insert) {
      try opened.group { _ = try $0.execute(insert, values) }
    }
    #expect(failure.isOutcomeKnown && !failure.isTransient)
    let commits = [
      "COMMIT", " /* a */ rollback", "-- b\nBEGIN", "-- c\r\nCOMMIT", "/* /* */ d */ COMMIT",
      "/*/**/é*/ /**/ END", "; /* x */ COMMIT", "/*\u{301} x */ COMMIT", "--\u{301} x\nCOMMIT",
    ]
    for sql in commits {
      try expect(.statement, "transaction") {
        try opened.group { _ = try $0.execute(sql, []) }
      }
    }
    try expect(.statement, "zero") {
      try opened.group { _ = try $0.execute("INSERT INTO mine (a, b) VALUES (2, $1)", ["a\0b"]) }
    }
    try expect(.statement, "513 MiB", "SELECT $1") {
      try opened.group { _ = try $0.query("SELECT $1::bytea", [.blob(Data(count: 513 << 20))]) }
    }
    #expect(try opened.group { try $0.query("SELECT count(*) FROM mine", []) } == [[1]])
  }
}
