import DispatchStore
import DispatchStorePersistence
import Foundation
import PostgreSQLServer

// usage: PostgreSQLRatios FOLDER [ROUNDS]
//
// Starts a PostgreSQL server in the folder, and times acknowledged actions beside pgbench, which writes groups as large by
// the same statements on the same server. Then counts the statements of an owner that does nothing.

let root = CommandLine.arguments.dropFirst().first ?? NSTemporaryDirectory()
let rounds = CommandLine.arguments.dropFirst(2).first.flatMap(Int.init) ?? 5
let folder = "\(root)/postgresql-\(UUID())"
let server = try PostgreSQLServer(in: folder)
try server.start()
print("load before: \(try String(contentsOfFile: "/proc/loadavg", encoding: .utf8).prefix(14))")

let count = 25_600
var (ours, theirs, ratios, sizes): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
var (journal, table): ([Double], [Double]) = ([], [])
for _ in 0..<rounds {
  let bench = try await Bench(server)
  let group = bench.persistence.status.group
  let begin = try bench.psql("SELECT pg_current_wal_lsn()")
  let time = await bench.send(count)
  let bytes = try bench.psql("SELECT pg_current_wal_lsn() - '\(begin)'")
  let perRow = try bench.psql(
    "SELECT pg_total_relation_size('dispatchstore_rows') / count(*) FROM dispatchstore_rows")
  let size = Double(count) / Double(bench.persistence.status.group - group)
  try await bench.remove()
  let groups = max(Int(Double(count) / size), 1)
  let other = try await pgbench(server, groups: groups, size: max(Int(size), 1))
  ours.append(Double(count) / time)
  theirs.append(Double(groups * max(Int(size), 1)) / other)
  ratios.append(ours.last! / theirs.last!)
  sizes.append(size)
  journal.append(Double(bytes)! / Double(count))
  table.append(Double(perRow)!)
}
print(
  """
  1,000 lanes, 256 in flight: \(quartiles(ours, "%.0f")) actions/s, beside \(quartiles(theirs, "%.0f")): \
  \(quartiles(ratios, "%.2f")) (at least 0.67), in groups of \(quartiles(sizes, "%.0f"))
  per action: \(quartiles(journal, "%.0f")) bytes of WAL; per row: \(quartiles(table, "%.0f")) bytes of table and index
  """)

(ours, theirs, ratios) = ([], [], [])
for _ in 0..<rounds {
  let bench = try await Bench(server)
  ours.append(await bench.sync(500) / 500 * 1e6)
  try await bench.remove()
  theirs.append(try await pgbench(server, groups: 500, size: 1) / 500 * 1e6)
  ratios.append(ours.last! / theirs.last!)
}
print(
  """
  one at a time, .sync: \(quartiles(ours, "%.0f")) µs, beside \(quartiles(theirs, "%.0f")) µs: \
  \(quartiles(ratios, "%.2f")) (at most 1.5)
  """)

// The count is made by the server.
try server.stop()
try server.start("shared_preload_libraries=pg_stat_statements")
let idle = try await Bench(server)
_ = try idle.psql("CREATE EXTENSION pg_stat_statements; SELECT pg_stat_statements_reset()")
try await Task.sleep(for: .seconds(60))
let statements = try idle.psql(
  "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'"
)
let connections = try idle.psql(
  "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'DispatchStore'")
print(
  """
  an idle owner: \(String(format: "%.2f", Double(statements)! / 60)) statements/s (at most 1), on \(connections) \
  connection(s)
  """)
try await idle.remove()
try server.stop()
try FileManager.default.removeItem(atPath: folder)
