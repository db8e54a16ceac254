import DispatchStore
import DispatchStorePersistence
import Foundation
import PostgreSQLServer
import Programs

/// The database of the service: a file, or a database of a PostgreSQL server.
struct ServiceDatabase {
  /// The path, or the URL.
  let address: String
  let cluster: Cluster?
  private let name: String

  init(file address: String) { (self.address, cluster, name) = (address, nil, "") }

  /// Makes an empty database.
  init(on cluster: Cluster, named name: String) throws {
    (address, self.cluster, self.name) = (cluster.url(name), cluster, name)
    try cluster.server.psql("CREATE DATABASE \(name)")
  }

  /// The database at an address, for the service.
  static func database(at address: String, lease: Duration) -> PersistenceDatabase {
    guard address.hasPrefix("postgresql:") else { return .sqlite(path: address) }
    return .postgreSQL(
      url: address, waitForOwnership: true, settings: PostgreSQLSettings(lease: lease))
  }

  /// Runs a query of the library's rows: their store, part, key and value.
  func rows(_ query: String) throws -> [(store: String, part: Int, key: String, value: Data)] {
    // Before the first opening there is no table.
    if cluster == nil {
      let rows = (try? Stranger(address, onlyReads: true).rows(query)) ?? []
      return rows.map { ($0[0], Int($0[1])!, $0[2], Data($0[3].utf8)) }
    }
    if try psql("SELECT to_regclass('dispatchstore_rows')").isEmpty { return [] }
    let wrapped = "SELECT json_build_array(identifier, part, key, value) FROM (\(query)) AS r"
    return try psql(wrapped).split(separator: "\n").compactMap { line in
      guard let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [Any],
        let store = row[0] as? String, let part = row[1] as? Int, let key = row[2] as? String,
        let value = row[3] as? String
      else { return nil }
      return (store, part, key, Data(value.utf8))
    }
  }

  @discardableResult
  private func psql(_ sql: String) throws -> String {
    try cluster?.server.psql(sql, in: name) ?? ""
  }

  func remove() throws {
    try cluster?.server.psql("DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
  }

  // MARK: The partition's row

  /// Lets the server record each change of the partition's owner and group, in the transaction that makes it.
  func record() throws {
    try psql(
      """
      CREATE TABLE recorded (number bigserial PRIMARY KEY, epoch bigint, last_group bigint, at timestamptz);
      CREATE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO recorded (epoch, last_group, at) VALUES (NEW.epoch, NEW.last_group, clock_timestamp());
        RETURN NULL;
      END $$;
      CREATE TRIGGER record AFTER UPDATE OF epoch, last_group ON dispatchstore_partitions
        FOR EACH ROW EXECUTE FUNCTION record();
      """)
  }

  /// When the present owner has taken over, by the clock of this machine; nil if that is not recorded.
  func takeOver() throws -> Date? {
    let time = try psql(
      "SELECT extract(epoch FROM min(at)) FROM recorded GROUP BY epoch ORDER BY epoch DESC LIMIT 1")
    return Double(time).map(Date.init(timeIntervalSince1970:))
  }

  /// The number of recorded groups, and those that do not follow the one before.
  func recorded() throws -> (count: Int, wrong: String) {
    let line = try psql(
      """
      SELECT count(*), string_agg(format('%s/%s after %s/%s', epoch, last_group, e, g), ', ') FILTER (WHERE
        NOT (epoch = e AND last_group = g + 1 OR epoch = e + 1 AND last_group = g)) FROM (
          SELECT epoch, last_group, lag(epoch) OVER w AS e, lag(last_group) OVER w AS g FROM recorded
          WINDOW w AS (ORDER BY number)) AS r
      """)
    let parts = line.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
    return (Int(parts[0]) ?? 0, String(parts.last ?? ""))
  }

  /// The number of the last group that the server has.
  func lastGroup() throws -> Int {
    Int(try psql("SELECT last_group FROM dispatchstore_partitions")) ?? 0
  }
}
