import Foundation
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

/// A temporary folder, which goes with its test.
final class Folder: Sendable {
  let path: String

  init() throws {
    let name = "dispatchstore-\(UUID().uuidString)"
    path = FileManager.default.temporaryDirectory.appending(path: name).path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of the database.
  var database: String { file("shop.db") }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  func driver(_ settings: SQLiteSettings = SQLiteSettings()) -> SQLiteDriver {
    SQLiteDriver(path: database, settings: settings, patience: .milliseconds(20))
  }
}

/// The project's folder.
let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../..")
  .standardized

/// A program, which is built beside the tests.
func program(_ name: String) -> URL {
  URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: name)
}

/// Calls a closure before it encodes.
struct WatchedCoder: PersistenceCoder {
  private let coder = JSONPersistenceCoder()
  let willEncode: @Sendable () -> Void

  init(_ willEncode: @escaping @Sendable () -> Void) { self.willEncode = willEncode }

  func encode(_ value: some Encodable) throws -> Data {
    willEncode()
    return try coder.encode(value)
  }

  func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
    try coder.decode(type, from: data)
  }
}

/// A driver that has opened its database, and commits groups like `Persistence`.
final class Opened<Driver: PersistenceDriver> {
  let driver: Driver
  var owner: PersistenceOwner

  init(_ driver: Driver) throws {
    self.driver = driver
    owner = try driver.open()
  }

  /// Commits a group.
  @discardableResult
  func group<T>(_ body: (Driver) throws -> T) throws -> T {
    #expect(try driver.begin(as: owner))
    do {
      let result = try body(driver)
      try driver.commit()
      owner.group += 1
      return result
    } catch {
      driver.rollback()
      throw error
    }
  }

  /// Saves a store of which only the identifier matters.
  func store(_ identifier: String = "store") throws -> Int64 {
    try group {
      try $0.save(SavedStore(version: 1, typeName: "Shop", typeVersion: 1), identifier)
    }
  }

  /// Saves rows whose keys are numbers, in one group.
  func save(
    _ numbers: Range<Int>, part: Int = 0, ofStore store: Int64,
    _ value: (Int) -> Data = { _ in Data("1".utf8) }
  ) throws {
    try group { driver in
      for number in numbers {
        let row = SavedRow(part: part, key: "\(number)")
        try driver.save(value(number), at: row, ofStore: store)
      }
    }
  }

  func rows(_ store: Int64, part: Int = 0) throws -> [String: Data] {
    try group { driver in
      var rows: [String: Data] = [:]
      try driver.forEachRow(ofStore: store, part: part) { rows[$0] = $1 }
      return rows
    }
  }
}

/// Limits a resource of this process's; nil ends the limit.
func limit(_ resource: UInt32, to value: rlim_t?) {
  var limit = rlimit()
  #expect(getrlimit(__rlimit_resource_t(resource), &limit) == 0)
  limit.rlim_cur = value ?? limit.rlim_max
  #expect(setrlimit(__rlimit_resource_t(resource), &limit) == 0)
}

/// Expects an error with a code, and parts of its message; returns it.
@discardableResult
func expect(
  _ code: PersistenceError.Code, _ parts: String...,
  from sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () throws -> Void
) throws -> PersistenceError {
  let error = try #require(
    throws: PersistenceError.self, sourceLocation: sourceLocation, performing: body)
  #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
  for part in parts {
    #expect(error.message.contains(part), "\(error)", sourceLocation: sourceLocation)
  }
  return error
}
