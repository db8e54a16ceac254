import DispatchStore
import DispatchStorePersistence
import Foundation
import PostgreSQLServer

/// An element of about 200 bytes as JSON.
struct Element: Codable, Sendable {
  var id: Int
  var name = "a customer with a name of some length"
  var address = "a street, a number, a city, and a country that is far away from here"
  var balance = 1_234.56
  var isActive = true
}

struct Customers: ModelType, Codable { var all = TrackedDictionary<Int, Element>() }
struct Change: ActionType { let id: Int }

/// A persistent store in a new database.
struct Bench {
  let server: PostgreSQLServer
  let database: String
  let persistence: Persistence
  let dispatcher: Dispatcher

  init(_ server: PostgreSQLServer) async throws {
    self.server = server
    database = "bench_\(UInt64.random(in: 0...UInt64.max))"
    try server.psql("CREATE DATABASE \(database)")
    persistence = try await Persistence(.postgreSQL(url: server.url(database)))
    dispatcher = Dispatcher(name: "bench", persistence: persistence)
    try await dispatcher.register(
      store: Store(identifier: "customers", model: Customers()) {
        On(Change.self) { customers, change in
          customers.all[change.id, default: Element(id: change.id)].balance += 1
        }
      }, persisted: .elements(\.all))
  }

  /// Sends actions to 1,000 lanes, 256 at a time, and returns the time of all.
  func send(_ count: Int) async -> Double {
    await seconds {
      await withDiscardingTaskGroup { group in
        for task in 0..<256 {
          group.addTask {
            for number in 0..<(count / 256) {
              let id = (task * 7_919 + number * 104_729) % 100_000
              await dispatcher.send(Change(id: id), mode: .serial(lane: id % 1_000))
            }
          }
        }
      }
    }
  }

  /// Sends actions one at a time, on a thread that blocks, and returns the time of all.
  func sync(_ count: Int) async -> Double {
    await withCheckedContinuation { (continuation: CheckedContinuation<Double, Never>) in
      Thread.detachNewThread {
        let start = ContinuousClock.now
        for id in 0..<count { dispatcher.dispatch(Change(id: id), mode: .sync) }
        continuation.resume(returning: (ContinuousClock.now - start) / .seconds(1))
      }
    }
  }

  func psql(_ sql: String) throws -> String { try server.psql(sql, in: database) }

  func remove() async throws {
    try await persistence.close()
    try server.psql("DROP DATABASE \(database) WITH (FORCE)")
  }
}

/// Writes groups with pgbench, in the library's tables and with its statements; returns the time of all.
///
/// Rows are sent with each group, as the library sends them, but pgbench has nothing to encode.
func pgbench(_ server: PostgreSQLServer, groups: Int, size: Int) async throws -> Double {
  let bench = try await Bench(server)
  try await bench.persistence.close()
  let value = String(decoding: try JSONEncoder().encode(Element(id: 12_345)), as: UTF8.self)
    .replacing("\"", with: "\\\"")
  let numbers = (1...size).map { "\($0 * 7_919)" }.joined(separator: ",")
  let values = Array(repeating: "\"\(value)\"", count: size).joined(separator: ",")
  let script = """
    \\set base random(0, 99999)
    \\startpipeline
    BEGIN;
    WITH fence AS (
      UPDATE dispatchstore_partitions SET last_group = last_group + 1,
        lease_end = clock_timestamp() + 10::float8 * interval '1 second'
      WHERE name = 'main' AND epoch = 1 RETURNING 1)
    SELECT 1 / count(*), set_config('idle_in_transaction_session_timeout', '5000', true),
      set_config('client_min_messages', 'warning', true), set_config('extra_float_digits', '3', true)
    FROM fence;
    UPDATE dispatchstore_stores SET version = version + 1 WHERE number = 1;
    INSERT INTO dispatchstore_rows (store, part, key, value, bytes)
    SELECT 1, 1, ((:base::int + number) % 100000)::text, value, NULL
    FROM unnest(:numbers::bigint[], :values::text[]) AS made (number, value)
    ON CONFLICT (store, part, key) DO UPDATE SET value = excluded.value, bytes = excluded.bytes;
    COMMIT;
    \\endpipeline

    """
  let file = "\(server.folder)/group.sql"
  try script.write(toFile: file, atomically: true, encoding: .utf8)
  let printed = try server.asServer(
    "pgbench", "-n", "-M", "prepared", "-c", "1", "-t", "\(groups)", "-D",
    "numbers={\(numbers)}", "-D", "values={\(values)}", "-f", file, server.url(bench.database))
  try server.psql("DROP DATABASE \(bench.database) WITH (FORCE)")
  guard let rate = printed.firstMatch(of: /tps = ([0-9.]+)/), let rate = Double(rate.1) else {
    fatalError(printed)
  }
  return Double(groups) / rate
}

func seconds(_ body: () async throws -> Void) async rethrows -> Double {
  let start = ContinuousClock.now
  try await body()
  return (ContinuousClock.now - start) / .seconds(1)
}

/// The median of values, and their quartiles.
func quartiles(_ values: [Double], _ format: String) -> String {
  let sorted = values.sorted()
  func at(_ part: Double) -> String {
    String(format: format, sorted[Int((Double(sorted.count - 1) * part).rounded())])
  }
  return "\(at(0.5)) [\(at(0.25)), \(at(0.75))]"
}
