import Foundation
import Programs
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

@Suite struct TransactionTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  @Test func aGroupThatWasAppliedIsNoticed() throws {
    let opened = try Opened(folder.driver())
    let before = opened.owner
    _ = try opened.store()
    // As if the commit had thrown: the engine tries the same group again.
    #expect(try !opened.driver.begin(as: before))
    try expect(.statement, "no transaction") { try opened.driver.commit() }
    #expect(try opened.driver.begin(as: opened.owner))
  }

  @Test func aGroupThatIsTwoAheadIsAnotherOwners() throws {
    let opened = try Opened(folder.driver())
    let before = opened.owner
    _ = try opened.store()
    _ = try opened.store("other")
    try expect(.notOwner) { _ = try opened.driver.begin(as: before) }
  }

  @Test func aRolledBackGroupLeavesNothing() throws {
    let opened = try Opened(folder.driver())
    #expect(try opened.driver.begin(as: opened.owner))
    _ = try opened.driver.save(SavedStore(version: 1, typeName: "T", typeVersion: 1), "store")
    opened.driver.rollback()
    #expect(try opened.group { try $0.store("store") } == nil)
    #expect(opened.owner.group == 1)
  }

  @Test func nothingRunsOutsideOfATransaction() throws {
    let opened = try Opened(folder.driver())
    let row = SavedRow(part: 0, key: "")
    try expect(.statement, "no transaction") {
      try opened.driver.save(Data(), at: row, ofStore: 1)
    }
    try expect(.statement, "no transaction") { _ = try opened.driver.store("store") }
    try expect(.statement, "no transaction") { _ = try opened.driver.query("SELECT 1", []) }
  }

  @Test func aLockedDatabaseIsBusy() throws {
    let opened = try Opened(folder.driver())
    let stranger = Stranger(folder.database)
    try stranger.run("BEGIN IMMEDIATE")
    try expect(.busy, folder.database) { _ = try opened.driver.begin(as: opened.owner) }
    try stranger.run("ROLLBACK")
    #expect(try opened.store() == 1)
  }

  @Test func aFullDatabaseIsReportedUntilTheRollback() throws {
    let opened = try Opened(folder.driver(SQLiteSettings(pragmas: ["max_page_count = 20"])))
    let store = try opened.store()
    #expect(try opened.driver.begin(as: opened.owner))
    let row = SavedRow(part: 0, key: "")
    try expect(.full, folder.database) {
      try opened.driver.save(Data(count: 200_000), at: row, ofStore: store)
    }
    // SQLite has ended the transaction, or the engine does; either way, nothing of it is left.
    opened.driver.rollback()
    try opened.group { try $0.save(Data("1".utf8), at: row, ofStore: store) }
    #expect(try opened.rows(store) == ["": Data("1".utf8)])
  }

  @Test func aStatementThatEndsTheTransactionEndsTheGroup() throws {
    let opened = try Opened(folder.driver())
    try opened.group { _ = try $0.execute("CREATE TABLE mine (a UNIQUE)", []) }
    try opened.group { _ = try $0.execute("INSERT INTO mine VALUES (1)", []) }
    #expect(try opened.driver.begin(as: opened.owner))
    try expect(.statement, "UNIQUE") {
      _ = try opened.driver.execute("INSERT OR ROLLBACK INTO mine VALUES (1)", [])
    }
    // Without the transaction, this would be saved at once, and alone.
    try expect(.statement, "UNIQUE") {
      _ = try opened.driver.execute("INSERT INTO mine VALUES (2)", [])
    }
    try expect(.statement, "UNIQUE") { try opened.driver.commit() }
    opened.driver.rollback()
    #expect(try opened.group { try $0.query("SELECT a FROM mine", []) } == [[1]])
  }

  @Test func aConstraintAtTheCommitIsAKnownFailure() throws {
    let opened = try Opened(folder.driver(SQLiteSettings(pragmas: ["foreign_keys = ON"])))
    try opened.group { driver in
      _ = try driver.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)", [])
      let reference = "REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED"
      _ = try driver.execute("CREATE TABLE child (parent \(reference))", [])
    }
    #expect(try opened.driver.begin(as: opened.owner))
    _ = try opened.driver.execute("INSERT INTO child VALUES (1)", [])
    let failure = try expect(.statement) { try opened.driver.commit() }
    #expect(failure.isOutcomeKnown)
    #expect(try opened.group { try $0.query("SELECT * FROM child", []) } == [])
  }

  @Test func aFailedWriteAtTheCommitIsAnUnknownOutcomeAndCanBeRepeated() async throws {
    let path = folder.database
    await #expect(processExitsWith: .success) { [path = path as String] in
      let opened = try Opened(SQLiteDriver(path: path, settings: SQLiteSettings()))
      let store = try opened.store()
      let row = SavedRow(part: 0, key: "")
      #expect(try opened.driver.begin(as: opened.owner))
      try opened.driver.save(Data(count: 100_000), at: row, ofStore: store)
      // Files can't grow any further.
      signal(SIGXFSZ, SIG_IGN)
      limit(RLIMIT_FSIZE.rawValue, to: rlim_t(opened.driver.journalBytes))
      let failure = try expect(.inputOutput, "SQLite error 778, File too large") {
        try opened.driver.commit()
      }
      #expect(!failure.isOutcomeKnown)
      limit(RLIMIT_FSIZE.rawValue, to: nil)
      try opened.group { try $0.save(Data(count: 100_000), at: row, ofStore: store) }
      #expect(try opened.rows(store) == ["": Data(count: 100_000)])
    }
  }

  /// Needs a file system of few megabytes:
  /// `mount -t tmpfs -o size=2m tmpfs /mnt/small; DISPATCHSTORE_SMALL_DISK=/mnt/small swift test`.
  @Test(.enabled(if: smallDisk != nil, "there is no small disk"))
  func aFullDiskIsAKnownFailureAndCanBeRepeatedWhenThereIsRoom() throws {
    let disk = try #require(smallDisk)
    let path = "\(disk)/\(UUID().uuidString)"
    defer {
      for file in ["", "-wal", "-shm", "-owner"] { unlink(path + file) }
    }
    let opened = try Opened(SQLiteDriver(path: path, settings: SQLiteSettings()))
    let store = try opened.store()
    let filler = "\(disk)/filler"
    // It fills the disk, and fails.
    try? Data(count: 100_000_000).write(to: URL(filePath: filler))
    defer { unlink(filler) }
    func save() throws {
      try opened.group {
        try $0.save(Data(count: 200_000), at: SavedRow(part: 0, key: ""), ofStore: store)
      }
    }
    let failure = try expect(.full) { try save() }
    #expect(failure.isTransient && failure.isOutcomeKnown, "\(failure)")
    unlink(filler)
    try save()
    #expect(try opened.rows(store) == ["": Data(count: 200_000)])
  }

  @Test func resultCodesHaveKinds() {
    func kind(_ code: Int32, _ systemError: Int32 = 0, isOpening: Bool = false) -> String {
      let kind = SQLiteConnection.kind(of: code, systemError: systemError, isOpening: isOpening)
      return kind.description
    }
    #expect(kind(5) == "busy" && kind(261) == "busy" && kind(6) == "busy")
    #expect(kind(13) == "full" && kind(778, ENOSPC) == "full" && kind(778, EDQUOT) == "full")
    #expect(kind(778, EIO) == "inputOutput" && kind(10) == "inputOutput")
    #expect(kind(11) == "corrupt" && kind(26) == "corrupt")
    #expect(kind(26, isOpening: true) == "notADatabase")
    #expect(kind(14) == "inputOutput" && kind(14, isOpening: true) == "cannotOpen")
    #expect(kind(8) == "inputOutput" && kind(1544, isOpening: true) == "cannotOpen")
    #expect(kind(1) == "statement" && kind(2067) == "statement" && kind(18) == "statement")
  }

  @Test func onlyACompleteWriteMakesAnOutcomeUnknown() {
    #expect(SQLiteConnection.provesRollback(13, .full))
    #expect(SQLiteConnection.provesRollback(778, .full))
    #expect(!SQLiteConnection.provesRollback(778, .inputOutput))
    #expect(!SQLiteConnection.provesRollback(1034, .full))  // SQLITE_IOERR_FSYNC
  }
}

private let smallDisk = ProcessInfo.processInfo.environment["DISPATCHSTORE_SMALL_DISK"]
