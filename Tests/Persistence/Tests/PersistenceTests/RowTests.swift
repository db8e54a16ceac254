import Foundation
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

@Suite struct RowTests {
  let folder: Folder
  let opened: Opened<SQLiteDriver>

  init() throws {
    folder = try Folder()
    opened = try Opened(folder.driver())
  }

  @Test func aStoreIsFoundAsItWasSaved() throws {
    var store = SavedStore(version: .max, typeName: "Shöp\0", typeVersion: 3)
    store.number = try opened.group { try $0.save(store, "a\0b") }
    #expect(try opened.group { try $0.store("a\0b") } == store)
    #expect(try opened.group { try $0.store("a") } == nil)
    store.typeVersion = 4
    #expect(try opened.group { try $0.save(store, "a\0b") } == store.number)
    try opened.group { try $0.save(version: 9, ofStore: store.number) }
    store.version = 9
    #expect(try opened.group { try $0.store("a\0b") } == store)
  }

  @Test func theVersionOfAMissingStoreIsNotSaved() throws {
    try expect(.corrupt, "store 5") {
      try opened.group { try $0.save(version: 1, ofStore: 5) }
    }
  }

  @Test func aDeletedStoreLosesItsRowsAndNoOthers() throws {
    let (first, second) = (try opened.store("first"), try opened.store("second"))
    try opened.group { driver in
      for store in [first, second] {
        try driver.save(Data("1".utf8), at: SavedRow(part: 1, key: "a"), ofStore: store)
      }
      try driver.delete(store: first)
    }
    #expect(try opened.group { try $0.store("first") } == nil)
    #expect(try opened.rows(first, part: 1).isEmpty)
    #expect(try opened.rows(second, part: 1) == ["a": Data("1".utf8)])
  }

  static let values: [Data] = [
    Data(), Data("{}".utf8), Data("null\0, and more\0".utf8),
    Data("żółw 🐢 \u{FFFF}\u{FEFF}".utf8),
    Data([0xEF, 0xBB, 0xBF, 0x31]), Data([0xFF]), Data([0x61, 0xC3]), Data([0xED, 0xA0, 0x80]),
    Data((0...255).map { UInt8($0) }), Data("01234567\u{80}".utf8), Data("sliced: 1".utf8)[8...],
  ]

  @Test(arguments: values)
  func aValueIsReadAsItWasSaved(_ value: Data) throws {
    let store = try opened.store()
    try opened.group { try $0.save(value, at: SavedRow(part: 0, key: ""), ofStore: store) }
    #expect(try opened.rows(store) == ["": value])
    let isText = String(data: value, encoding: .utf8) != nil
    let types = try opened.group {
      try $0.query("SELECT typeof(value) FROM dispatchstore_rows", [])
    }
    #expect(types == [[isText ? "text" : "blob"]])
  }

  @Test func keysMayBeAnyText() throws {
    let store = try opened.store()
    let keys = [
      "", "a", "A", "a\0b", "a\0", "ż", "🐢", "\u{FEFF}", String(repeating: "k", count: 5000),
    ]
    try opened.group { driver in
      for key in keys {
        try driver.save(Data(key.utf8), at: SavedRow(part: 1, key: key), ofStore: store)
      }
    }
    let rows = try opened.rows(store, part: 1)
    #expect(rows.count == keys.count)
    for key in keys { #expect(rows[key] == Data(key.utf8)) }
  }

  @Test func aRowIsReplacedAndRemoved() throws {
    let store = try opened.store()
    let row = SavedRow(part: 1, key: "a")
    for value in ["1", "22", "{}"].map({ Data($0.utf8) }) {
      try opened.group { try $0.save(value, at: row, ofStore: store) }
      #expect(try opened.rows(store, part: 1) == ["a": value])
    }
    try opened.group { driver in
      try driver.save(nil, at: row, ofStore: store)
      // Removing it again does nothing.
      try driver.save(nil, at: row, ofStore: store)
    }
    #expect(try opened.rows(store, part: 1).isEmpty)
  }

  @Test func theBodysErrorStopsTheReadingAndNothingElse() throws {
    struct Stop: Error {}
    let store = try opened.store()
    try opened.group { driver in
      for key in ["a", "b"] {
        try driver.save(Data(), at: SavedRow(part: 1, key: key), ofStore: store)
      }
      #expect(throws: Stop.self) {
        try driver.forEachRow(ofStore: store, part: 1) { _, _ in throw Stop() }
      }
    }
    #expect(try opened.rows(store, part: 1).count == 2)
  }

  @Test func manyRowsAreSavedAndReadAfterReopening() throws {
    let store = try opened.store()
    let value = Data(String(repeating: "v", count: 190).utf8)
    try opened.save(0..<100_000, part: 1, ofStore: store) { value + Data("\($0)".utf8) }
    opened.driver.close()
    let rows = try Opened(folder.driver()).rows(store, part: 1)
    #expect(rows.count == 100_000)
    #expect(rows.allSatisfy { $1 == value + Data($0.utf8) })
  }
}
