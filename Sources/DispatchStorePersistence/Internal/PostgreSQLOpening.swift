#if PostgreSQL
  import DispatchStore
  import Foundation

  /// Opens a partition: checks the server, makes missing tables, and makes this process the owner.
  struct PostgreSQLOpening {
    private let connection: PostgreSQLConnection
    private let driver: PostgreSQLDriver
    private var place: PostgreSQLPlace { driver.place }

    init(_ connection: PostgreSQLConnection, _ driver: PostgreSQLDriver) {
      (self.connection, self.driver) = (connection, driver)
    }

    func open() throws -> PersistenceOwner {
      do {
        try checkServer()
        try makeTables()
        return try becomeOwner()
      } catch let failure as PostgreSQLConnection.Failure {
        let error = failure.error("opening", in: place)
        throw error.code == .statement ? PersistenceError(.cannotOpen, error.message) : error
      }
    }

    private func checkServer() throws {
      let names = ["fsync", "full_page_writes", "synchronous_commit"]
      let settings = names.map { "current_setting('\($0)')" }.joined(separator: ", ")
      let row = try connection.run(PostgreSQLStatement("SELECT pg_is_in_recovery(), \(settings)"))
      if row.isTrue(0, 0) {
        throw PersistenceError(
          .cannotOpen,
          "\(place.description) can't be opened: the server is a standby, which only reads. Name the primary server."
        )
      }
      for (index, name) in names.enumerated()
      where row.text(0, index + 1) == "off" && !driver.settings.maySkipSync {
        throw PersistenceError(
          .notDurable,
          """
          \(place.description): the server's setting \(name) is off, so acknowledged commits would be lost when its \
          machine loses power. Turn it on, or set maySkipSync.
          """)
      }
    }

    // MARK: Tables

    private func makeTables() throws {
      if try columns().isEmpty {
        _ = try connection.run(
          [.begin, PostgreSQLStatement("SELECT pg_advisory_xact_lock(7305801, 1)")]
            + PostgreSQLTable.all.map { PostgreSQLStatement($0.sql) } + [.commit])
      }
      let found = try columns()
      for table in PostgreSQLTable.all { try check(table, found[table.name] ?? [:]) }
      let format = try connection.run(
        PostgreSQLStatement("SELECT coalesce(max(format), 1) FROM dispatchstore_partitions"))
      if format.integer(0, 0) > PostgreSQLTable.format {
        throw PersistenceError(
          .newerVersion,
          "\(place.description) was written by a newer version of DispatchStore. Use that version, or a later one."
        )
      }
    }

    /// The columns of the library's tables that are there, with their types.
    private func columns() throws -> [String: [String: String]] {
      let rows = try connection.run(
        PostgreSQLStatement(
          """
          SELECT relname, attname, format_type(atttypid, NULL), relkind FROM pg_class
          JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
          WHERE relnamespace = current_schema()::regnamespace AND relname LIKE 'dispatchstore\\_%' AND relkind IN ('r', 'v', 'm', 'p', 'f')
          """))
      var columns: [String: [String: String]] = [:]
      for row in 0..<rows.rowCount {
        let type = rows.text(row, 3) == "r" ? rows.text(row, 2) : "no table"
        columns[rows.text(row, 0), default: [:]][rows.text(row, 1)] = type
      }
      return columns
    }

    private func check(_ table: PostgreSQLTable, _ found: [String: String]) throws {
      for (column, type) in table.columns where found[column] != type {
        throw PersistenceError(
          .notADatabase,
          """
          \(place.description) has a table "\(table.name)" that isn't the library's: its column "\(column)" is \
          \(found[column].map { "of type \($0), not \(type)" } ?? "missing"). Use another schema or database, or \
          rename the table.
          """)
      }
    }

    // MARK: Ownership

    /// The row of the partition, as a process finds it that wants to own it.
    private struct Found {
      let holder: PostgreSQLHolder?
      let isLeased: Bool
      let secondsLeft: Double
      /// The server's process that has the row; 0 if it has just left it.
      let backend: Int64
      /// Whether a transaction of another process has the row.
      let isLocked: Bool

      var isFree: Bool { !isLeased || holder == nil || holder?.isDead == true }
    }

    private func becomeOwner() throws -> PersistenceOwner {
      // An insertion alone would wait for the end of a transaction that has the row.
      _ = try connection.run(
        PostgreSQLStatement(
          """
          INSERT INTO dispatchstore_partitions (name, format, epoch, last_group, lease_end, backend, holder)
          SELECT $1, \(PostgreSQLTable.format), 0, 0, '-infinity', 0, ''
          WHERE NOT EXISTS (SELECT FROM dispatchstore_partitions WHERE name = $1) ON CONFLICT DO NOTHING
          """, .text(place.partition)))
      while true {
        let found = try lockRow()
        if found.isFree, !found.isLocked { return try takeOver() }
        if found.isFree {
          // A transaction of the former owner still has the row; that owner has no right to it any longer.
          if found.backend == 0 { continue }
          _ = try connection.run(.terminate(backend: found.backend))
          continue
        }
        if !found.isLocked { _ = try connection.run(.rollback) }
        guard driver.waits else { throw inUse(found) }
        if !driver.mayGoOn { throw CancellationError() }
        Thread.sleep(forTimeInterval: min(max(found.secondsLeft, 0.01), 0.1))
      }
    }

    /// Begins a transaction that has the partition's row, unless another one has it for longer than half a second.
    private func lockRow() throws -> Found {
      do {
        let row = try connection.run([
          .begin, .waitForLocks(milliseconds: 500),
          .readHolder(place.partition, driver.settings, locks: true),
        ])[2]
        return found(row, isLocked: false)
      } catch  where error.sqlState == "55P03" {
        _ = try connection.run(.rollback)
        let row = try connection.run(
          .readHolder(place.partition, driver.settings, locks: false))
        return found(row, isLocked: true)
      }
    }

    private func found(_ row: PostgreSQLResult, isLocked: Bool) -> Found {
      Found(
        holder: PostgreSQLHolder(row.text(0, 0)), isLeased: row.isTrue(0, 1),
        secondsLeft: Double(row.text(0, 2)) ?? 0, backend: row.integer(0, 3), isLocked: isLocked)
    }

    private func takeOver() throws -> PersistenceOwner {
      let row = try connection.run([
        PostgreSQLStatement(
          """
          UPDATE dispatchstore_partitions SET epoch = epoch + 1, holder = $2, backend = pg_backend_pid(),
            lease_end = clock_timestamp() + $3::float8 * interval '1 second'
          WHERE name = $1 RETURNING epoch, last_group
          """, .text(place.partition), .text(driver.holder.text),
          .seconds(driver.settings.lease)), .commit,
      ])[0]
      return PersistenceOwner(epoch: row.integer(0, 0), group: row.integer(0, 1))
    }

    private func inUse(_ found: Found) -> PersistenceError {
      PersistenceError(
        .inUse,
        """
        \(place.description) is in use by \(found.holder?.description ?? "another process"), whose lease ends in \
        \(max(Int(found.secondsLeft.rounded(.up)), 0)) s unless it is renewed. Close it there first, use another \
        partition, or set waitForOwnership.
        """)
    }
  }

  /// A table of the library's.
  struct PostgreSQLTable {
    /// The version of the tables.
    static let format = Int64(1)

    let name: String
    /// The names of the columns, with their types.
    let columns: KeyValuePairs<String, String>
    private let further: [String: String]
    private let constraint: String

    /// The text of CREATE TABLE; rows that are updated often are so in their page.
    var sql: String {
      let columns = columns.map { "\($0.key) \($0.value) \(further[$0.key] ?? "NOT NULL")" }
      return """
        CREATE TABLE IF NOT EXISTS \(name) (\((columns + [constraint]).joined(separator: ", ")))
        WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)
        """
    }

    // Keys are compared by their bytes, so that no other locale of the server's changes their order.
    private static let key = "COLLATE \"C\" NOT NULL"

    static let all = [
      PostgreSQLTable(
        name: "dispatchstore_partitions",
        columns: [
          "name": "text", "format": "integer", "epoch": "bigint", "last_group": "bigint",
          "lease_end": "timestamp with time zone", "backend": "integer", "holder": "text",
        ], further: ["name": key], constraint: "PRIMARY KEY (name)"),
      PostgreSQLTable(
        name: "dispatchstore_stores",
        columns: [
          "number": "bigint", "partition": "text", "identifier": "text", "version": "bigint",
          "type_name": "text", "type_version": "integer",
        ],
        further: [
          "number": "GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "partition": key,
          "identifier": key,
        ], constraint: "UNIQUE (partition, identifier)"),
      PostgreSQLTable(
        name: "dispatchstore_rows",
        columns: [
          "store": "bigint", "part": "integer", "key": "text", "value": "text", "bytes": "bytea",
        ], further: ["key": key, "value": "", "bytes": ""],
        constraint: "PRIMARY KEY (store, part, key)"),
    ]
  }
#endif
