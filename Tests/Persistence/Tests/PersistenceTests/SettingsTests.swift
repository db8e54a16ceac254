import Foundation
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

@Suite struct SettingsTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  static let skippingSync = [
    "synchronous = OFF", "PRAGMA synchronous=NORMAL", "main.Synchronous('off')", "synchronous = 1",
    "synchronous = \"FULL \"", "/* quick */ synchronous /**/ = 0 ;", "fullfsync = 0",
    "checkpoint_fullfsync = off",
  ]

  @Test(arguments: skippingSync)
  func skippingSyncNeedsThePermission(_ pragma: String) throws {
    let refused = folder.driver(SQLiteSettings(pragmas: [pragma]))
    try expect(.notDurable, pragma, "maySkipSync") { _ = try refused.open() }
    #expect(!FileManager.default.fileExists(atPath: folder.database))
    let permitted = folder.driver(SQLiteSettings(pragmas: [pragma], maySkipSync: true))
    #expect(try permitted.open().epoch == 1)
  }

  @Test(arguments: ["synchronous = FULL", "synchronous = extra", "synchronous(3)", "synchronous"])
  func fullSyncNeedsNoPermission(_ pragma: String) throws {
    #expect(try folder.driver(SQLiteSettings(pragmas: [pragma])).open().epoch == 1)
  }

  @Test(arguments: [
    "journal_mode = DELETE", "journal_mode = off", "journal_mode(memory)",
    "locking_mode = EXCLUSIVE", "main.locking_mode = exclusive",
  ])
  func otherModesAreAlwaysRefused(_ pragma: String) throws {
    let driver = folder.driver(SQLiteSettings(pragmas: [pragma], maySkipSync: true))
    try expect(.notDurable, pragma, "no permission") { _ = try driver.open() }
  }

  @Test(arguments: [
    "cache_size = 1; PRAGMA synchronous = OFF", "DROP TABLE mine", "", "PRAGMA",
    "PRAGMA cache_size = 1; DROP TABLE mine",
  ])
  func onlyOnePragmaIsASetting(_ text: String) throws {
    let driver = folder.driver(SQLiteSettings(pragmas: [text]))
    try expect(.statement, "\"\(PragmaCheck.statement(text))\" is no PRAGMA") {
      _ = try driver.open()
    }
  }

  @Test func pragmasTakeEffectBeforeTheTablesAreMade() throws {
    let settings = SQLiteSettings(pragmas: ["page_size = 8192", "PRAGMA\nforeign_keys = ON;"])
    let opened = try Opened(folder.driver(settings))
    let values = try opened.group { driver in
      try ["page_size", "foreign_keys", "synchronous", "journal_mode"].flatMap {
        try driver.query("SELECT * FROM pragma_\($0)", [])
      }
    }
    #expect(values == [[8192], [1], [2], ["wal"]])
  }

  @Test func theJournalsSizeIsReported() throws {
    let opened = try Opened(folder.driver(SQLiteSettings(pragmas: ["wal_autocheckpoint = 0"])))
    let before = opened.driver.journalBytes()
    let store = try opened.store()
    try opened.group {
      try $0.save(Data(count: 100_000), at: SavedRow(part: 0, key: ""), ofStore: store)
    }
    #expect(opened.driver.journalBytes() >= before + 100_000)
    opened.driver.close()
    #expect(!FileManager.default.fileExists(atPath: folder.database + "-wal"))
  }
}
