import Foundation
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

private struct Shop: ModelType, Codable {
  var orders = TrackedDictionary<String, Int>()
  var paid: [Int] = []
}

private struct Place: CodableAction, Equatable {
  typealias Reply = Int
  let item: String
}
private struct Remind: CodableAction {}
private struct Paid: CodableAction { let number: Int }
private struct BankIsClosed: Error {}

@Suite("Copying a database", .timeLimit(.minutes(5)))
struct CopyTests {
  private let folder: Folder
  private let server: Database

  init() throws { (folder, server) = (try Folder(), try Database()) }

  private var file: PersistenceDatabase { .sqlite(path: folder.database) }
  private var partition: PersistenceDatabase { .postgreSQL(url: server.url, partition: "shop") }

  /// A process of the service; its bank may be closed.
  private struct Service {
    let dispatcher: Dispatcher
    let persistence: Persistence
    let shop: Store<Shop, HandledAction>

    init(_ database: PersistenceDatabase, bankIsOpen: Bool) async throws {
      persistence = try await Persistence(
        database, actions: ActionCoder(Place.self, Remind.self, Paid.self))
      dispatcher = Dispatcher(name: "shop", persistence: persistence)
      dispatcher.onWarning { _ in }
      shop = try await dispatcher.register(
        store: Store(identifier: "shop", model: Shop()) {
          On(Place.self) { shop, place in
            shop.orders[place.item] = shop.orders.count + 1
            return shop.orders.count
          }
          On(Remind.self) { _, _ in }
          On(Paid.self) { shop, paid in shop.paid.append(paid.number) }
        }, persisted: .elements(\.orders))
      dispatcher.register(
        effect: DurableEffect("charge", on: Place.self, backoff: .constant(.seconds(86_400))) {
          _, _ in
          if !bankIsOpen { throw BankIsClosed() }
          return Paid(number: 1)
        })
      dispatcher.resumeWork()
    }

    func end() async throws {
      await dispatcher.drain()
      try await persistence.close()
    }
  }

  @Test func keepsStoresKeysSchedulesAndWork() async throws {
    var service = try await Service(file, bankIsOpen: false)
    let placed = await service.dispatcher.send(Place(item: "tea\\"), options: .idempotencyKey("a"))
    #expect(try placed.reply == 1)
    service.dispatcher.dispatch(
      Remind(), options: .delayed(by: .seconds(86_400), name: "reminder"))
    let version = service.shop.version
    try await service.end()

    try await Persistence.copy(from: file, to: partition)
    service = try await Service(partition, bankIsOpen: false)
    #expect(service.shop.model.orders.dictionary == ["tea\\": 1])
    #expect(service.shop.version == version)
    #expect(service.dispatcher.pendingEffects.count == 1)
    try await service.end()

    let back = PersistenceDatabase.sqlite(path: folder.file("back.db"))
    try await Persistence.copy(from: partition, to: back)
    service = try await Service(back, bankIsOpen: true)
    #expect(service.shop.model.orders.dictionary == ["tea\\": 1])
    #expect(service.dispatcher.scheduled.map(\.name) == ["reminder"])
    let repeated = await service.dispatcher.send(
      Place(item: "tea\\"), options: .idempotencyKey("a"))
    #expect(try repeated.reply == 1)
    // The charge that was left.
    for await change in service.shop.stream(.model, initial: true) where change.value.paid == [1] {
      break
    }
    try await service.end()
  }

  @Test func keepsAllKeysAndBytes() async throws {
    let source = try Opened(folder.driver())
    let store = try source.store("a\0store\\")
    let keys = (0..<12_000).map { "key \($0)" } + ["", "\\0", "ä€😀"]
    try source.group { driver in
      for (index, key) in keys.enumerated() {
        let value = index.isMultiple(of: 7) ? Data([0xFF, 0, 1]) : Data("{\"a\":\(index)}".utf8)
        try driver.save(value, at: SavedRow(part: index % 3, key: key), ofStore: store)
      }
    }
    let rows = try (0...2).map { try source.rows(store, part: $0) }
    let saved = try source.group { try $0.store("a\0store\\") }
    source.driver.close()

    try await Persistence.copy(from: file, to: partition)
    let target = try Opened(server.driver("shop"))
    var found = try #require(try target.group { try $0.store("a\0store\\") })
    #expect(try (0...2).map { try target.rows(found.number, part: $0) } == rows)
    found.number = saved!.number
    #expect(found == saved)
  }

  @Test func leavesADatabaseThatHasStores() async throws {
    let source = try Opened(folder.driver())
    _ = try source.store()
    source.driver.close()
    try await Persistence.copy(from: file, to: partition)
    let error = await #expect(throws: PersistenceError.self) {
      try await Persistence.copy(from: file, to: partition)
    }
    #expect(error?.code == .alreadyRegistered)
  }

  /// As with a mistyped path.
  @Test func refusesADatabaseThatIsNotThere() async throws {
    let path = folder.file("shp.db")
    let error = await #expect(throws: PersistenceError.self) {
      try await Persistence.copy(from: .sqlite(path: path), to: partition)
    }
    #expect(error?.code == .cannotOpen)
    #expect(error?.message.contains("\(path)\" has no stores") == true, "\(error as Any)")
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func refusesAPartitionWithoutStores() async throws {
    let error = await #expect(throws: PersistenceError.self) {
      try await Persistence.copy(from: partition, to: file)
    }
    #expect(error?.code == .cannotOpen)
    #expect(error?.message.contains("\"shop\" has no stores") == true, "\(error as Any)")
    let target = try Opened(folder.driver())
    #expect(try target.group { try $0.storeIdentifiers() } == [])
  }

  @Test func waitsForNoOwnerInACancelledTask() async throws {
    let source = try Opened(folder.driver())
    _ = try source.store()
    source.driver.close()
    let owner = try Opened(
      server.driver("shop", settings: PostgreSQLSettings(lease: .seconds(3_600))))
    let waiting = PersistenceDatabase.postgreSQL(
      url: server.url, partition: "shop", waitForOwnership: true)
    let copying = Task { [file] in try await Persistence.copy(from: file, to: waiting) }
    copying.cancel()
    await #expect(throws: CancellationError.self) { try await copying.value }
    owner.driver.close()
  }
}
