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

  init(_ environment: [String: String]) {
    port = environment["PORT"].flatMap(Int.init) ?? 8080
    database = environment["DATABASE"].map { place in
      place.hasPrefix("postgresql://")
        ? .postgreSQL(url: place, partition: "shop", waitForOwnership: true) : .sqlite(path: place)
    }
    gateway = environment["GATEWAY"] ?? "http://127.0.0.1:8090"
    logLevel = environment["LOG_LEVEL"].flatMap { Logger.Level(rawValue: $0) } ?? .info
    traces = environment["TRACES"]
  }
}
