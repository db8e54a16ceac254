import Foundation
import Programs
import Synchronization
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

  @Test func theJournalGrowsUntilTheDatabaseIsClosed() throws {
    let opened = try Opened(folder.driver(SQLiteSettings(pragmas: ["wal_autocheckpoint = 0"])))
    let before = opened.driver.journalBytes
    let store = try opened.store()
    try opened.group {
      try $0.save(Data(count: 100_000), at: SavedRow(part: 0, key: ""), ofStore: store)
    }
    #expect(opened.driver.journalBytes >= before + 100_000)
    opened.driver.close()
    #expect(!FileManager.default.fileExists(atPath: folder.database + "-wal"))
  }

  /// Opens a database whose store adds a page for each action.
  private func openPages(
    _ path: String
  ) async throws -> (Dispatcher, Persistence, Store<Pages, HandledAction>) {
    let persistence = try await Persistence(.sqlite(path: path))
    let dispatcher = Dispatcher(name: "shop", persistence: persistence)
    let pages = try await dispatcher.register(
      store: Store(identifier: "pages", model: Pages()) {
        On(Page.self) { pages, page in pages.all[pages.all.count] = page.text }
      }, persisted: .elements(\.all))
    return (dispatcher, persistence, pages)
  }

  @Test func aCopyThatIsMadeMeanwhileHasWhatWasSaved() async throws {
    let (dispatcher, persistence, pages) = try await openPages(folder.database)
    for text in ["a", "b"] { await dispatcher.send(Page(text: text)) }
    let copy = folder.database + "-copy.db"
    try Stranger(folder.database).run("VACUUM INTO '\(copy)'")
    await dispatcher.send(Page(text: "c"))
    #expect(pages.version == 3)
    try await persistence.close()
    let (next, copied, found) = try await openPages(copy)
    #expect(found.model.all.dictionary == [0: "a", 1: "b"])
    #expect(found.version == 2)
    #expect(await next.send(Page(text: "d")).result.isSuccess)
    try await copied.close()
  }

  @Test(arguments: [
    ("value = '{' WHERE part = 0", "the model"),
    ("value = '1' WHERE part = 1", "element \"0\" of dictionary 1"),
    ("key = 'ann' WHERE part = 1", "The key is no Int"),
    ("key = '00' WHERE part = 1", "element \"00\" of dictionary 1"),
  ])
  func aRowThatCannotBeDecodedIsNamed(_ change: String, _ name: String) async throws {
    let (dispatcher, persistence, _) = try await openPages(folder.database)
    await dispatcher.send(Page(text: "a"))
    try await persistence.close()
    try Stranger(folder.database).run("UPDATE dispatchstore_rows SET \(change)")
    let error = await #expect(throws: PersistenceError.self) {
      _ = try await openPages(folder.database)
    }
    #expect(error?.code == .notDecodable)
    #expect(error?.message.contains(name) == true, "\(error as Any)")
  }

  struct Page: ActionType { let text: String }
  struct Pages: ModelType, Codable { var all = TrackedDictionary<Int, String>() }

  /// Large groups are no reason: the next small one empties the journal.
  @Test func aJournalThatAReaderKeepsFromBeingEmptiedIsReportedOnce() async throws {
    let (dispatcher, persistence, pages) = try await openPages(folder.database)
    let warnings = Mutex<[DispatchWarning]>([])
    dispatcher.onWarning { warning in warnings.withLock { $0.append(warning) } }
    let (large, small) = (String(repeating: "x", count: 65 << 20), "x")
    for text in [large, large, small, small] { await pages.send(Page(text: text)) }
    persistence.warningQueue.sync {}
    #expect(warnings.withLock(\.count) == 0)

    let reader = Stranger(folder.database)
    try reader.run("BEGIN; SELECT count(*) FROM dispatchstore_rows")
    for text in [large, small, small] { await pages.send(Page(text: text)) }
    try reader.run("COMMIT")
    persistence.warningQueue.sync {}
    #expect(warnings.withLock { $0.map(\.kind) } == [.largeJournal])
    #expect(warnings.withLock { $0.first?.message.contains(folder.database) } == true)
  }
}
