import DispatchStore
import DispatchStorePersistence
import Foundation
import Logging

/// What the environment says.
struct Settings {
  let host: String
  let port: Int
  /// A file of SQLite, or a server of PostgreSQL; nil keeps everything in memory.
  let database: PersistenceDatabase?
  let gateway: String
  let logLevel: Logger.Level
  /// The file for finished spans; nil makes none.
  let traces: String?
  /// Where the inspector is served; nil if it is off.
  let inspector: (host: String, port: Int)?

  init(_ environment: [String: String]) throws {
    func read<Value>(
      _ name: String, or usual: String, _ parse: (String) -> Value?
    ) throws -> Value {
      let text = environment[name] ?? usual
      if let value = parse(text) { return value }
      throw InvalidSetting(description: "\(name) is \"\(text)\", and has to be such as \(usual).")
    }
    host = environment["HOST"] ?? "127.0.0.1"
    port = try read("PORT", or: "8080", Self.port)
    database = environment["DATABASE"].map(Self.database)
    gateway = environment["GATEWAY"] ?? "http://127.0.0.1:8090"
    logLevel = try read("LOG_LEVEL", or: "info") { Logger.Level(rawValue: $0) }
    traces = environment["TRACES"]
    let isOff = environment["INSPECTOR"] == "off"
    inspector = try isOff ? nil : read("INSPECTOR", or: "127.0.0.1:8081", Self.address)
  }

  private static func database(_ place: String) -> PersistenceDatabase {
    guard place.contains("://") else { return .sqlite(path: place) }
    // A silent server delays the closing by 13 s. From SIGTERM on that is 10 + 5 + 13, less than a grace period of 30.
    let settings = PostgreSQLSettings(lease: .seconds(6), patience: .seconds(5))
    return .postgreSQL(url: place, partition: "shop", waitForOwnership: true, settings: settings)
  }

  private static func port(_ text: String) -> Int? {
    Int(text).flatMap { 1...65_535 ~= $0 ? $0 : nil }
  }

  private static func address(_ text: String) -> (host: String, port: Int)? {
    guard let colon = text.lastIndex(of: ":"), colon > text.startIndex,
      let port = port(String(text[text.index(after: colon)...]))
    else { return nil }
    return (text[..<colon].trimmingCharacters(in: ["[", "]"]), port)
  }
}

/// A setting that can't be read.
struct InvalidSetting: Error, CustomStringConvertible {
  let description: String
}
