import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Persistent stores of programs that have changed", .timeLimit(.minutes(10)))
struct ChangedFormTests {
  struct Books: ModelType, Codable {
    var open = TrackedDictionary<String, Int>()
    var closed = TrackedDictionary<String, Int>()
  }

  struct Open: ActionType { let name: String }
  struct Shut: ActionType { let name: String }

  let database = MemoryDatabase()
  let dispatchers = Recorder<Dispatcher>()

  /// A process that opens the database once the one before has crashed.
  private func reopened() async throws -> Dispatcher {
    database.crash()
    let dispatcher = Dispatcher(name: "office")
    dispatchers.record(dispatcher)
    try await database.open(for: dispatcher)
    return dispatcher
  }

  private func books(
    _ form: PersistedForm<Books>, _ identifier: String = "books"
  ) async throws -> Store<Books, HandledAction> {
    try await reopened().register(
      store: Store(identifier: identifier, model: Books()) {
        On(Open.self) { books, open in books.open[open.name, default: 0] += 1 }
        On(Shut.self) { books, shut in
          books.closed[shut.name] = books.open.removeValue(forKey: shut.name)
        }
      }, persisted: form)
  }

  private func content(_ books: Store<Books, HandledAction>) -> [[String: Int]] {
    [books.model.open.dictionary, books.model.closed.dictionary]
  }

  private var rows: [[String: String]] {
    (1...2).map { database.rows(ofStore: "books", part: $0) }
  }

  @Test func moveElementsFromTheModelsRowToRowsOfTheirOwn() async throws {
    var books = try await self.books(.model)
    for name in ["a", "b"] { await books.send(Open(name: name)) }
    await books.send(Shut(name: "b"))
    books = try await self.books(.elements(\.open))
    #expect(content(books) == [["a": 1], ["b": 1]] && books.version == 3)
    #expect(rows == [["a": "1"], [:]])
    books = try await self.books(.elements(\.open, \.closed))
    #expect(content(books) == [["a": 1], ["b": 1]])
    #expect(rows == [["a": "1"], ["b": "1"]])
    await books.send(Open(name: "a"))
    books = try await self.books(.elements(\.open, \.closed))
    #expect(content(books) == [["a": 2], ["b": 1]] && books.version == 4)
  }

  @Test func areRefusedIfTheyDoNotNameADictionaryThatHasRows() async throws {
    let saved = try await books(.elements(\.open, \.closed))
    for name in ["a", "b"] { await saved.send(Open(name: name)) }
    await saved.send(Shut(name: "b"))
    for (form, count) in [(PersistedForm<Books>.model, 0), (.elements(\.open), 1)] {
      let error = await #expect(throws: PersistenceError.self) { _ = try await self.books(form) }
      #expect(error?.code == .notDecodable)
      #expect(error?.message.contains("2 dictionaries") == true, "\(error as Any)")
      #expect(error?.message.contains("registered with \(count)") == true, "\(error as Any)")
    }
    let books = try await self.books(.elements(\.open, \.closed))
    #expect(content(books) == [["a": 1], ["b": 1]])
  }

  @Test func findAStoreByAnEqualIdentifier() async throws {
    await (try books(.elements(\.open), "caf\u{E9}")).send(Open(name: "a"))
    let decomposed = try await books(.elements(\.open), "cafe\u{301}")
    #expect(decomposed.model.open.dictionary == ["a": 1])
    database.crash()
    let dispatcher = Dispatcher()
    try await database.open(for: dispatcher).delete("cafe\u{301}")
    #expect(try await books(.elements(\.open), "caf\u{E9}").model.open.isEmpty)
  }

  struct Texts: ModelType, Codable { var all = TrackedDictionary<String, Int>() }
  struct Numbers: ModelType, Codable { var all = TrackedDictionary<Int, Int>() }

  /// Its element's next change would go to a row beside it.
  @Test(arguments: ["007", "+7"])
  func refuseARowWhoseKeyTheyWriteInAnotherWay(_ text: String) async throws {
    let texts = try await reopened().register(
      store: Store(identifier: "counts", model: Texts()) {
        On(Open.self) { texts, open in texts.all[open.name] = 1 }
      }, persisted: .elements(\.all))
    await texts.send(Open(name: text))
    let dispatcher = try await reopened()
    let error = await #expect(throws: PersistenceError.self) {
      try await dispatcher.register(
        store: Store(identifier: "counts", model: Numbers()) { On(Open.self) { _, _ in } },
        persisted: .elements(\.all))
    }
    #expect(error?.code == .notDecodable)
    for part in ["dispatchstore_rows", "\"counts\"", "element \"\(text)\"", "as \"7\""] {
      #expect(error?.message.contains(part) == true, "\(error as Any)")
    }
    #expect(database.rows(ofStore: "counts", part: 1) == [text: "1"])
  }

  struct Prices: ModelType, Codable { var all = TrackedDictionary<String, Decimal>() }
  struct Price: ActionType { let price: Decimal }

  private func prices(as type: PersistedType) async throws -> Store<Prices, HandledAction> {
    try await reopened().register(
      store: Store(identifier: "prices", model: Prices()) {
        On(Price.self) { prices, action in prices.all["tea"] = action.price }
      }, persisted: .elements(\.all), as: type)
  }

  @Test func keepAllDigitsOfRowsThatAMigrationDoesNotChange() async throws {
    let price = Decimal(string: "1234567890123456.789012345")!
    await (try prices(as: PersistedType("prices"))).send(Price(price: price))
    let migrated = try await prices(as: PersistedType("prices", version: 2) { _ in })
    #expect(migrated.model.all.dictionary == ["tea": price])
  }

  struct Notes: ModelType, Codable { var all = TrackedDictionary<Int, PlainValue>() }

  private func saveNote(_ note: PlainValue, as type: PersistedType) async throws {
    let notes = Notes(all: TrackedDictionary([1: note]))
    try await reopened().register(
      store: Store(identifier: "notes", model: notes) { On(Open.self) { _, _ in } },
      persisted: .elements(\.all), as: type)
  }

  static let equalNotes: [(PlainValue, PlainValue)] = [
    ("cafe\u{301}", "caf\u{E9}"), (["place": ["cafe\u{301}"]], ["place": ["caf\u{E9}"]]),
    (["cafe\u{301}": 1], ["caf\u{E9}": 1]), ([.double(-0.0)], [.double(0.0)]),
  ]

  @Test(arguments: equalNotes)
  func saveWhatAMigrationChangesToTheByte(_ old: PlainValue, _ new: PlainValue) async throws {
    try await saveNote(old, as: PersistedType("notes"))
    let type = PersistedType("notes", version: 2) { row in if row.part == 1 { row.value = new } }
    try await saveNote(old, as: type)
    let row = try #require(database.rows(ofStore: "notes", part: 1)["1"])
    #expect(try Data(row.utf8) == JSONPersistenceCoder().encode(new))
  }

  struct Item: Codable, Equatable, Sendable {
    var price: Decimal, currency: String?
    /// Not rounded: one number that is written in another way, one beyond a `Decimal`, and none.
    var weights: [Double?] = [1e16, 1e300, nil]
    var isTaxed = true
  }

  struct Items: ModelType, Codable { var all = TrackedDictionary<String, Item>() }

  private func items(as type: PersistedType) async throws -> Store<Items, HandledAction> {
    try await reopened().register(
      store: Store(identifier: "items", model: Items()) {
        On(Price.self) { items, action in
          items.all["tea"] = Item(price: action.price, currency: nil)
        }
      }, persisted: .elements(\.all), as: type)
  }

  @Test(arguments: ["1234567890123456.789012345", "12.345", "-7"])
  func refuseAMigrationThatWouldRoundANumber(text: String) async throws {
    let price = Decimal(string: text)!
    await (try items(as: PersistedType("items"))).send(Price(price: price))
    let saved = database.rows(ofStore: "items", part: 1)
    let type = PersistedType("items", version: 2) { row in
      if row.part == 1 { row.value["currency"] = "EUR" }
    }
    do {
      let items = try await items(as: type)
      #expect(items.model.all["tea"] == Item(price: price, currency: "EUR"))
    } catch let error as PersistenceError {
      #expect(text.utf8.count > 24 && error.code == .migration, "\(error)")
      #expect(error.message.contains("row \"tea\" of part 1"), "\(error)")
      #expect(database.rows(ofStore: "items", part: 1) == saved)
    }
  }

  struct Gauge: ModelType, Codable {
    var level = 0.0, unread = 0.0, drift: Float = 0, unit: String?
    var read = Date(timeIntervalSinceReferenceDate: 0)
  }

  struct Read: ActionType {}

  private func gauge(as type: PersistedType) async throws -> Store<Gauge, HandledAction> {
    try await reopened().register(
      store: Store(identifier: "gauge", model: Gauge()) {
        On(Read.self) { gauge, _ in
          gauge.level = -0.0
          gauge.drift = -0.0
          gauge.read = Date(timeIntervalSinceReferenceDate: -0.0)
        }
      }, persisted: .model, as: type)
  }

  @Test func keepTheSignOfAZeroInARowThatAMigrationChanges() async throws {
    await (try gauge(as: PersistedType("gauge"))).send(Read())
    let migrated = try await gauge(
      as: PersistedType("gauge", version: 2) { row in row.value["unit"] = "m" }
    ).model
    #expect(migrated.unit == "m")
    #expect(migrated.level.sign == .minus && migrated.drift.sign == .minus)
    #expect(migrated.read.timeIntervalSinceReferenceDate.sign == .minus)
    #expect(migrated.unread.sign == .plus)
  }

  @Test func saveNoDecimalThatTheyCouldNotLoad() async throws {
    let prices = try await prices(as: PersistedType("prices"))
    let result = await prices.send(Price(price: .nan))
    #expect((result.dispatchError?.cause as? PersistenceError)?.code == .notEncodable)
    #expect(try await self.prices(as: PersistedType("prices")).model.all.isEmpty)
    let text = JSONPersistenceCoder()
    #expect(try text.decode(String.self, from: text.encode("a:NaN")) == "a:NaN")
  }
}
