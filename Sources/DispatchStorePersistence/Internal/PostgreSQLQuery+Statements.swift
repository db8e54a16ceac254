#if PostgreSQL
  import CPostgreSQL
  import DispatchStore
  import Foundation

  // The text of the driver's statements.
  extension PostgreSQLQuery {
    init(_ statement: PostgreSQLStatement) {
      self =
        switch statement {
        case .begin: Self("BEGIN")
        case .commit: Self("COMMIT")
        case .rollback: Self("ROLLBACK")
        case .limits(let wait, let idle): .limits(wait, idle)
        case .settings(let names): .settings(names)
        case .lockTables: Self("SELECT pg_advisory_xact_lock(7305801, 1)")
        case .makeTable(let table): Self(table.sql)
        case .columns: .columns
        case .format: Self("SELECT coalesce(max(format), 1) FROM dispatchstore_partitions")
        case .addPartition(let partition): .addPartition(partition)
        case .readHolder(let partition, let lease, let locks):
          .readHolder(partition, lease, locks: locks)
        case .endLocker(let partition): .endLocker(partition)
        case .takeOver(let partition, let holder, let lease): .takeOver(partition, holder, lease)
        case .fence(let partition, let owner, let holder, let lease):
          .fence(partition, owner, holder, lease)
        case .renew(let partition, let lease): .renew(partition, lease)
        case .keepLease(let partition, let epoch, let holder, let lease):
          .keepLease(partition, epoch, holder, lease)
        case .readOwner(let partition, let locks): .readOwner(partition, locks: locks)
        case .release(let partition, let epoch, let holder): .release(partition, epoch, holder)
        case .storeIdentifiers(let partition):
          Self(
            "SELECT identifier FROM dispatchstore_stores WHERE partition = $1 ORDER BY number",
            .text(partition))
        case .findStore(let identifier, let partition): .findStore(identifier, of: partition)
        case .saveStore(let store, let identifier, let partition):
          .save(store, identifier, of: partition)
        case .saveVersions(let versions): .save(versions)
        case .deleteStore(let number):
          Self("DELETE FROM dispatchstore_stores WHERE number = $1", .integer(number))
        case .saveRows(let rows): .save(rows)
        case .deleteRows(let rows): .delete(rows)
        case .lastPart(let number): .lastPart(ofStore: number)
        case .avoidSorting: Self("SELECT set_config('enable_sort', 'off', true)")
        case .rows(let number, let part, let last, let limit):
          .rows(ofStore: number, part: part, after: last, limit: limit)
        case .user(let sql, let values): Self(sql, values.map(Parameter.init))
        case .savepoint: Self("SAVEPOINT dispatchstore")
        case .releaseSavepoint: Self("RELEASE SAVEPOINT dispatchstore")
        case .rollbackToSavepoint: Self("ROLLBACK TO SAVEPOINT dispatchstore")
        }
    }

    private static func limits(_ wait: Duration, _ idle: Duration) -> PostgreSQLQuery {
      PostgreSQLQuery(
        """
        SELECT set_config('lock_timeout', $1, true),
          set_config('idle_in_transaction_session_timeout', $2, true), \(ownSettings)
        """, .milliseconds(wait), .milliseconds(idle))
    }

    /// The transaction's settings, whatever those of the role are: the server says if a commit has not waited for its
    /// standby, and numbers have all their digits.
    private static let ownSettings = """
      set_config('client_min_messages', 'warning', true),
        set_config('extra_float_digits', '3', true)
      """

    // MARK: Opening

    private static func settings(_ names: [String]) -> PostgreSQLQuery {
      let settings = names.map { "current_setting('\($0)')" }.joined(separator: ", ")
      return PostgreSQLQuery("SELECT pg_is_in_recovery(), \(settings)")
    }

    private static let columns = PostgreSQLQuery(
      """
      SELECT relname, attname, format_type(atttypid, NULL), relkind FROM pg_class
      JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
      WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND relname LIKE 'dispatchstore\\_%' AND relkind IN ('r', 'v', 'm', 'p', 'f')
      """)

    /// An INSERT waits for a transaction that has the row, so there is none if the row is there.
    private static func addPartition(_ partition: String) -> PostgreSQLQuery {
      PostgreSQLQuery(
        """
        INSERT INTO dispatchstore_partitions (name, format, epoch, last_group, lease_end, holder)
        SELECT $1::text, \(PostgreSQLTable.format), 0, 0, '-infinity'::timestamptz, ''
        WHERE NOT EXISTS (SELECT FROM dispatchstore_partitions WHERE name = $1) ON CONFLICT DO NOTHING
        """, .text(partition))
    }

    private static func readHolder(
      _ partition: String, _ lease: Duration, locks: Bool
    ) -> PostgreSQLQuery {
      let locker = """
        SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock' AND granted AND transactionid = found.xmax
          AND pid <> pg_backend_pid()
        """
      return PostgreSQLQuery(
        """
        SELECT holder, lease_end > clock_timestamp() OR EXISTS (
            \(locker) AND greatest(query_start, state_change) > clock_timestamp() - $2::float8 * interval '1 second'),
          CASE WHEN isfinite(lease_end) THEN extract(epoch FROM lease_end - clock_timestamp()) ELSE 0 END,
          EXISTS (\(locker) AND wait_event = 'SyncRep')
        FROM dispatchstore_partitions AS found WHERE name = $1\(locks ? " FOR UPDATE" : "")
        """, .text(partition), .seconds(lease))
    }

    /// The row names the transaction that has locked it.
    private static func endLocker(_ partition: String) -> PostgreSQLQuery {
      PostgreSQLQuery(
        """
        SELECT pg_terminate_backend(pid) FROM pg_locks JOIN dispatchstore_partitions AS found ON transactionid = found.xmax
        WHERE name = $1 AND locktype = 'transactionid' AND mode = 'ExclusiveLock' AND granted AND pid IS NOT NULL
        """, .text(partition))
    }

    private static func takeOver(
      _ partition: String, _ holder: String, _ lease: Duration
    ) -> PostgreSQLQuery {
      PostgreSQLQuery(
        """
        UPDATE dispatchstore_partitions SET epoch = epoch + 1, holder = $2,
          lease_end = clock_timestamp() + $3::float8 * interval '1 second'
        WHERE name = $1 RETURNING epoch, last_group
        """, .text(partition), .text(holder), .seconds(lease))
    }

    // MARK: Ownership

    private static func fence(
      _ partition: String, _ owner: PersistenceOwner, _ holder: String, _ lease: Duration
    ) -> PostgreSQLQuery {
      PostgreSQLQuery(
        """
        WITH fence AS (
          UPDATE dispatchstore_partitions SET last_group = last_group + 1,
            lease_end = clock_timestamp() + $4::float8 * interval '1 second'
          WHERE name = $1 AND epoch = $2 AND last_group = $3 AND holder = $6 RETURNING 1)
        SELECT 1 / count(*), set_config('idle_in_transaction_session_timeout', $5, true), \(ownSettings)
        FROM fence
        """, .text(partition), .integer(owner.epoch), .integer(owner.group),
        .seconds(lease), .milliseconds(lease / 2), .text(holder))
    }

    private static func renew(_ partition: String, _ lease: Duration) -> PostgreSQLQuery {
      PostgreSQLQuery(
        """
        UPDATE dispatchstore_partitions SET lease_end = clock_timestamp() + $2::float8 * interval '1 second'
        WHERE name = $1
        """, .text(partition), .seconds(lease))
    }

    private static func keepLease(
      _ partition: String, _ epoch: Int64, _ holder: String, _ lease: Duration
    ) -> PostgreSQLQuery {
      PostgreSQLQuery(
        """
        UPDATE dispatchstore_partitions SET lease_end = clock_timestamp() + $4::float8 * interval '1 second'
        WHERE name = (
          SELECT name FROM dispatchstore_partitions WHERE name = $1 AND epoch = $2 AND holder = $3
          FOR UPDATE SKIP LOCKED)
        RETURNING set_config('synchronous_commit', 'off', true)
        """, .text(partition), .integer(epoch), .text(holder), .seconds(lease))
    }

    private static func readOwner(_ partition: String, locks: Bool) -> PostgreSQLQuery {
      PostgreSQLQuery(
        "SELECT epoch, last_group, holder FROM dispatchstore_partitions WHERE name = $1"
          + (locks ? " FOR UPDATE" : ""), .text(partition))
    }

    private static func release(
      _ partition: String, _ epoch: Int64, _ holder: String
    ) -> PostgreSQLQuery {
      PostgreSQLQuery(
        """
        UPDATE dispatchstore_partitions SET lease_end = '-infinity', holder = ''
        WHERE name = $1 AND epoch = $2 AND holder = $3
        """, .text(partition), .integer(epoch), .text(holder))
    }

    // MARK: Stores

    private static func findStore(_ identifier: String, of partition: String) -> PostgreSQLQuery {
      PostgreSQLQuery(
        """
        SELECT number, version, type_name, type_version FROM dispatchstore_stores
        WHERE partition = $1 AND identifier = $2
        """, .text(partition), .text(escaped(identifier)))
    }

    private static func save(
      _ store: SavedStore, _ identifier: String, of partition: String
    ) -> PostgreSQLQuery {
      PostgreSQLQuery(
        """
        INSERT INTO dispatchstore_stores (partition, identifier, version, type_name, type_version)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (partition, identifier) DO UPDATE SET version = excluded.version,
          type_name = excluded.type_name, type_version = excluded.type_version
        RETURNING number
        """, .text(partition), .text(escaped(identifier)),
        .integer(Int64(bitPattern: store.version)), .text(escaped(store.typeName)),
        .integer(Int64(store.typeVersion)))
    }

    /// Hides the lengths of its arrays by subqueries: otherwise the server plans the statement anew for each group, which
    /// takes longer than to run it.
    private static func save(_ versions: [Int64: UInt64]) -> PostgreSQLQuery {
      var (numbers, values) = (PostgreSQLArray(of: .integer), PostgreSQLArray(of: .integer))
      for (number, version) in versions {
        numbers.append(number)
        values.append(Int64(bitPattern: version))
      }
      return PostgreSQLQuery(
        """
        WITH saved AS (
          UPDATE dispatchstore_stores SET version = changed.version
          FROM unnest((SELECT $1), (SELECT $2)) AS changed (number, version)
          WHERE dispatchstore_stores.number = changed.number RETURNING 1)
        SELECT 1 / (count(*) = cardinality($1))::integer FROM saved
        """, numbers.parameter, values.parameter)
    }

    // MARK: Rows

    private static func save(
      _ rows: [(store: Int64, row: SavedRow, value: Data)]
    ) -> PostgreSQLQuery {
      var (places, texts) = (PostgreSQLPlaces(), PostgreSQLArray(of: .text))
      var bytes = PostgreSQLArray(of: .bytes)
      for (store, row, value) in rows {
        places.append(store, row)
        // psql shows a value that is text, and the server's JSON functions accept it.
        let isText = value.withUnsafeBytes {
          String(validating: $0, as: UTF8.self) != nil && !$0.contains(0)
        }
        texts.append(isText ? value : nil)
        bytes.append(isText ? nil : value)
      }
      return PostgreSQLQuery(
        """
        INSERT INTO dispatchstore_rows (store, part, key, value, bytes)
        SELECT * FROM unnest($1, $2, $3, $4, $5)
        ON CONFLICT (store, part, key) DO UPDATE SET value = excluded.value, bytes = excluded.bytes
        """, places.parameters + [texts.parameter, bytes.parameter])
    }

    /// Hides the lengths of its arrays, as saving versions does.
    private static func delete(
      _ rows: [(store: Int64, row: SavedRow)]
    ) -> PostgreSQLQuery {
      var places = PostgreSQLPlaces()
      for (store, row) in rows { places.append(store, row) }
      return PostgreSQLQuery(
        """
        DELETE FROM dispatchstore_rows
        USING unnest((SELECT $1), (SELECT $2), (SELECT $3)) AS gone (store, part, key)
        WHERE dispatchstore_rows.store = gone.store AND dispatchstore_rows.part = gone.part
          AND dispatchstore_rows.key = gone.key
        """, places.parameters)
    }

    private static func lastPart(ofStore number: Int64) -> PostgreSQLQuery {
      PostgreSQLQuery(
        "SELECT coalesce(max(part), 0) FROM dispatchstore_rows WHERE store = $1", .integer(number))
    }

    /// - Parameter last: The last key, escaped, of the page before; nil for the first page.
    private static func rows(
      ofStore number: Int64, part: Int, after last: String?, limit: Int
    ) -> PostgreSQLQuery {
      PostgreSQLQuery(
        """
        SELECT key, value, bytes FROM dispatchstore_rows
        WHERE store = $1 AND part = $2 AND ($3::text IS NULL OR key > $3) ORDER BY key LIMIT $4
        """, .integer(number), .integer(Int64(part)), last.map(Parameter.text) ?? Parameter(),
        .integer(Int64(limit)), hasBinaryResults: true)
    }
  }

  /// The places of rows, as arrays of equal length.
  private struct PostgreSQLPlaces {
    private var stores = PostgreSQLArray(of: .integer)
    private var parts = PostgreSQLArray(of: .integer)
    private var keys = PostgreSQLArray(of: .text)

    mutating func append(_ store: Int64, _ row: SavedRow) {
      stores.append(store)
      parts.append(Int64(row.part))
      keys.append(escaped(row.key).utf8)
    }

    var parameters: [PostgreSQLQuery.Parameter] {
      [stores.parameter, parts.parameter, keys.parameter]
    }
  }

  extension PostgreSQLQuery.Parameter {
    init(_ value: DatabaseValue) {
      switch value {
      case .null: self.init()
      case .integer(let value): self = .integer(value)
      case .real(let value): self = .text("\(value)")
      case .text(let value): self = .text(value)
      case .blob(let value): self.init(type: 17, bytes: Array(value), isBinary: true)
      }
    }
  }
#endif
