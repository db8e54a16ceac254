import DispatchStore
import DispatchStorePersistence
import Foundation
import Logging

/// What the environment says.
struct Settings {
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
    func setting<Value>(
      _ name: String, _ value: Value, such form: String, _ parse: (String) -> Value?
    ) throws -> Value {
      guard let text = environment[name] else { return value }
      guard let value = parse(text) else {
        throw InvalidSetting(name: name, text: text, form: form)
      }
      return value
    }
    port = try setting("PORT", 8080, such: "8080", Self.port)
    database = environment["DATABASE"].map { place in
      place.contains("://")
        ? .postgreSQL(url: place, partition: "shop", waitForOwnership: true) : .sqlite(path: place)
    }
    gateway = environment["GATEWAY"] ?? "http://127.0.0.1:8090"
    logLevel = try setting("LOG_LEVEL", .info, such: "debug, info or error") {
      Logger.Level(rawValue: $0)
    }
    traces = environment["TRACES"]
    inspector = try Self.inspector(environment["INSPECTOR"] ?? "127.0.0.1:8081")
  }

  private static func port(_ text: some StringProtocol) -> Int? {
    Int(text).flatMap { 1...65_535 ~= $0 ? $0 : nil }
  }

  private static func inspector(_ text: String) throws -> (host: String, port: Int)? {
    if text == "off" { return nil }
    guard let colon = text.lastIndex(of: ":"), colon > text.startIndex,
      let port = port(text[text.index(after: colon)...])
    else { throw InvalidSetting(name: "INSPECTOR", text: text, form: "127.0.0.1:8081, or off") }
    return (text[..<colon].trimmingCharacters(in: ["[", "]"]), port)
  }
}

/// A setting that can't be read.
struct InvalidSetting: Error, CustomStringConvertible {
  let name: String, text: String, form: String

  var description: String { "\(name) is \"\(text)\", and has to be such as \(form)." }
}
