import Foundation
import Programs
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

@Suite struct OpeningTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  @Test func eachOpeningCountsUpTheEpochAndKeepsTheGroup() throws {
    let first = try Opened(folder.driver())
    #expect(first.owner == PersistenceOwner(epoch: 1, group: 0))
    _ = try first.store()
    first.driver.close()
    let second = try Opened(folder.driver())
    #expect(second.owner == PersistenceOwner(epoch: 2, group: 1))
  }

  @Test func aMissingFileIsNotMadeAnewBesideItsJournal() throws {
    let first = try Opened(folder.driver())
    _ = try first.store()
    for isEmpty in [true, false] {
      let killed = try Folder()
      try FileManager.default.copyItem(
        atPath: folder.database + "-wal", toPath: killed.database + "-wal")
      if isEmpty { _ = FileManager.default.createFile(atPath: killed.database, contents: nil) }
      try expect(.moved, "is missing, or empty", "shop.db-wal may have commits") {
        _ = try killed.driver().open()
      }
      try? FileManager.default.removeItem(atPath: killed.database)
      try FileManager.default.copyItem(atPath: folder.database, toPath: killed.database)
      #expect(try Opened(killed.driver()).owner == PersistenceOwner(epoch: 2, group: 1))
    }
  }

  @Test func aMissingFileIsNotMadeAnewIfThereWasOne() throws {
    for endsInOrder in [true, false] {
      let folder = try Folder()
      let first = try Opened(folder.driver())
      if endsInOrder { first.driver.close() }
      for file in ["", "-wal", "-shm"] { unlink(folder.database + file) }
      if !endsInOrder { first.driver.close() }
      for _ in 1...2 {
        try expect(.moved, "is missing, or empty", "shop.db-owner says that there was one") {
          _ = try folder.driver().open()
        }
      }
      unlink(folder.database + "-owner")
      #expect(try Opened(folder.driver()).owner == PersistenceOwner(epoch: 1, group: 0))
    }
  }

  /// As after a crash in the first opening.
  @Test func aLockFileBesideWhichThereWasNoDatabaseIsNoReason() throws {
    _ = FileManager.default.createFile(atPath: folder.database + "-owner", contents: nil)
    #expect(try Opened(folder.driver()).owner == PersistenceOwner(epoch: 1, group: 0))
  }

  @Test func aMissingFolderIsNamed() throws {
    let driver = SQLiteDriver(path: folder.file("no/shop.db"), settings: SQLiteSettings())
    try expect(.cannotOpen, "no/shop.db", "No such file") { _ = try driver.open() }
  }

  @Test func aFolderIsNoDatabase() throws {
    let driver = SQLiteDriver(path: folder.path, settings: SQLiteSettings())
    try expect(.cannotOpen, folder.path, "it is a folder") { _ = try driver.open() }
    #expect(!FileManager.default.fileExists(atPath: folder.path + "-owner"))
  }

  @Test func aPathThatEndsWithASlashIsRefusedEachTime() throws {
    let path = folder.database + "/"
    let driver = SQLiteDriver(path: path, settings: SQLiteSettings())
    try expect(.cannotOpen, path, "ends with a slash") { _ = try driver.open() }
    #expect(!FileManager.default.fileExists(atPath: folder.database))
    try Opened(folder.driver()).driver.close()
    try expect(.cannotOpen, path, "ends with a slash") { _ = try driver.open() }
  }

  @Test func aPipeIsNoDatabase() throws {
    #expect(mkfifo(folder.database, 0o600) == 0)
    try expect(.cannotOpen, "no ordinary file") { _ = try folder.driver().open() }
  }

  @Test func anEmptyPathIsRefused() throws {
    for path in ["", "a\0b"] {
      let driver = SQLiteDriver(path: path, settings: SQLiteSettings())
      try expect(.cannotOpen, "is no path") { _ = try driver.open() }
    }
  }

  @Test(arguments: ["hello", String(repeating: "no database, ", count: 1000)])
  func aFileThatIsNoDatabaseIsRefusedAndLeftAlone(_ text: String) throws {
    try Data(text.utf8).write(to: URL(filePath: folder.database))
    try expect(.notADatabase, folder.database) { _ = try folder.driver().open() }
    #expect(try String(contentsOfFile: folder.database, encoding: .utf8) == text)
    // Everything is unlocked again, so that the next attempt fails for the same reason.
    try expect(.notADatabase) { _ = try folder.driver().open() }
  }

  /// As a user without rights: root may write everywhere.
  @Test func aReadOnlyFolderIsRefused() async {
    #expect(chmod(folder.path, 0o555) == 0)
    defer { chmod(folder.path, 0o755) }
    await #expect(processExitsWith: .success) { [path = folder.database as String] in
      if geteuid() == 0 { #expect(seteuid(65_534) == 0) }
      try expect(.cannotOpen, "shop.db-owner", "Permission denied") {
        _ = try SQLiteDriver(path: path, settings: SQLiteSettings()).open()
      }
    }
  }

  @Test func aReadOnlyFileIsRefused() async throws {
    try Opened(folder.driver()).driver.close()
    for (suffix, rights) in [("", 0o444), ("-owner", 0o666)] as [(String, mode_t)] {
      #expect(chmod(folder.database + suffix, rights) == 0)
    }
    await #expect(processExitsWith: .success) { [path = folder.database as String] in
      if geteuid() == 0 { #expect(seteuid(65_534) == 0) }
      try expect(.cannotOpen, path, "no right to write") {
        _ = try SQLiteDriver(path: path, settings: SQLiteSettings()).open()
      }
    }
  }

  @Test func aDamagedFileIsNoticed() throws {
    try Opened(folder.driver()).driver.close()
    let file = URL(filePath: folder.database)
    var pages = try Data(contentsOf: file)
    // All but the first page, which has the columns.
    pages.replaceSubrange(4_096..., with: Data(repeating: 0xFF, count: pages.count - 4_096))
    try pages.write(to: file)
    try expect(.corrupt, folder.database) { _ = try folder.driver().open() }
  }

  static let changes: [(String, PersistenceError.Code, String)] = [
    // Before its columns are refused.
    (
      "UPDATE dispatchstore_owner SET format = 7; ALTER TABLE dispatchstore_rows ADD COLUMN more",
      .newerVersion, "in format 7; this one knows formats up to 1"
    ),
    (
      "ALTER TABLE dispatchstore_rows ADD COLUMN more", .notADatabase,
      "\"dispatchstore_rows\" that isn't the library's: it has another column \"more\""
    ),
    ("DROP TABLE dispatchstore_stores", .corrupt, "dispatchstore_stores"),
    ("DELETE FROM dispatchstore_owner", .corrupt, "dispatchstore_owner"),
  ]

  @Test(arguments: changes)
  func aTableThatWasChangedIsNamed(
    _ sql: String, _ code: PersistenceError.Code, _ reason: String
  ) throws {
    try Opened(folder.driver()).driver.close()
    try Stranger(folder.database).run(sql)
    try expect(code, reason) { _ = try folder.driver().open() }
  }

  @Test(arguments: [
    (
      "CREATE TABLE dispatchstore_owner (id INTEGER PRIMARY KEY)",
      "\"dispatchstore_owner\" that isn't the library's: it has no column \"format\""
    ),
    (
      "CREATE VIEW dispatchstore_rows AS SELECT 1 AS store",
      "\"dispatchstore_rows\" that isn't the library's: it is no table"
    ),
    ("PRAGMA encoding = 'UTF-16'; CREATE TABLE mine (a)", "UTF-16"),
  ])
  func anotherProgramsDatabaseIsRefused(_ sql: String, _ reason: String) throws {
    try Stranger(folder.database).run(sql)
    try expect(.notADatabase, reason) { _ = try folder.driver().open() }
  }

  @Test func aDatabaseMayHaveTheUsersTables() throws {
    try Stranger(folder.database).run("CREATE TABLE mine (a); INSERT INTO mine VALUES (5)")
    let opened = try Opened(folder.driver())
    #expect(try opened.group { try $0.query("SELECT a FROM mine", []) } == [[5]])
  }

  @Test func aLongLockOfAnotherProgramIsReported() throws {
    try Opened(folder.driver()).driver.close()
    let stranger = Stranger(folder.database)
    try stranger.run("BEGIN IMMEDIATE")
    try expect(.busy, folder.database, "another program") { _ = try folder.driver().open() }
    try stranger.run("COMMIT")
    #expect(try folder.driver().open().epoch == 2)
  }

  @Test func aReaderThatKeepsTheJournalModeFromChangingIsReported() throws {
    let stranger = Stranger(folder.database)
    try stranger.run("CREATE TABLE mine (a); BEGIN; SELECT * FROM mine")
    try expect(.busy, folder.database, "another program") { _ = try folder.driver().open() }
    try stranger.run("COMMIT")
    #expect(try folder.driver().open().epoch == 1)
  }

  @Test func aClosedDriverThrows() throws {
    let opened = try Opened(folder.driver())
    opened.driver.close()
    opened.driver.close()
    opened.driver.rollback()
    try expect(.closed) { _ = try opened.driver.begin(as: opened.owner) }
    #expect(opened.driver.journalBytes == 0)
  }

  @Test func networkFileSystemsAreKnown() throws {
    #expect(FileSystem.networkName(type: 0x6969) == "NFS")
    #expect(FileSystem.networkName(type: 0xFE53_4D42) == "SMB2")
    #expect(FileSystem.networkName(type: 0xEF53) == nil)  // ext4
    #expect(try FileSystem(of: folder.path).networkName == nil)
    try expect(.cannotOpen, "/no/folder") { _ = try FileSystem(of: "/no/folder") }
  }
}
