#if PostgreSQL
  import CPostgreSQL
  import DispatchStore
  import Foundation

  // The driver's own statements.
  extension PostgreSQLStatement {
    static let begin = PostgreSQLStatement("BEGIN")
    static let commit = PostgreSQLStatement("COMMIT")
    static let rollback = PostgreSQLStatement("ROLLBACK")
    /// Lets the transaction wait no longer for a lock, and ends it if the process stands still in it.
    static func waitForLocks(milliseconds: Int) -> PostgreSQLStatement {
      PostgreSQLStatement(
        """
        SELECT set_config('lock_timeout', '\(milliseconds)', true),
          set_config('idle_in_transaction_session_timeout', '\(2 * milliseconds)', true)
        """)
    }

    /// Compares the saved owner, counts up the number of the last group, and renews the lease.
    ///
    /// If another process has become the owner, it divides by zero: the statements after it do not run. If the owner
    /// stands still in the transaction, the server disconnects it before its lease ends.
    static func fence(
      _ partition: String, _ owner: PersistenceOwner, _ holder: PostgreSQLHolder,
      _ settings: PostgreSQLSettings
    ) -> PostgreSQLStatement {
      PostgreSQLStatement(
        """
        WITH fence AS (
          UPDATE dispatchstore_partitions SET last_group = last_group + 1, backend = pg_backend_pid(),
            lease_end = clock_timestamp() + $4::float8 * interval '1 second'
          WHERE name = $1 AND epoch = $2 AND last_group = $3 AND holder = $6 RETURNING 1)
        SELECT 1 / count(*), set_config('idle_in_transaction_session_timeout', $5, true) FROM fence
        """, .text(partition), .integer(owner.epoch), .integer(owner.group),
        .seconds(settings.lease),
        .text("\(max(Int(settings.lease / .milliseconds(2)), 1))"), .text(holder.text))
    }

    /// Renews the lease, after the comparison in the same transaction.
    static func renew(_ partition: String, _ lease: Duration) -> PostgreSQLStatement {
      PostgreSQLStatement(
        """
        UPDATE dispatchstore_partitions SET lease_end = clock_timestamp() + $2::float8 * interval '1 second'
        WHERE name = $1
        """, .text(partition), .seconds(lease))
    }

    static func readOwner(_ partition: String, locks: Bool) -> PostgreSQLStatement {
      PostgreSQLStatement(
        "SELECT epoch, last_group, holder FROM dispatchstore_partitions WHERE name = $1"
          + (locks ? " FOR UPDATE" : ""), .text(partition))
    }

    /// Reads the holder, whether it has the lease, for how many seconds, and the server's process that has the row.
    ///
    /// A transaction that has the row has the lease as long as it makes progress: the end of a lease that it has renewed
    /// can't be seen before its commit.
    static func readHolder(
      _ partition: String, _ settings: PostgreSQLSettings, locks: Bool
    ) -> PostgreSQLStatement {
      PostgreSQLStatement(
        """
        SELECT holder, lease_end > clock_timestamp() OR (SELECT
            CASE WHEN state = 'active' AND wait_event_type IS DISTINCT FROM 'Client'
              THEN query_start > clock_timestamp() - $3::float8 * interval '1 second'
              ELSE greatest(query_start, state_change) > clock_timestamp() - $2::float8 * interval '1 second' END
            FROM pg_stat_activity WHERE pid = backend) IS TRUE,
          CASE WHEN isfinite(lease_end) THEN extract(epoch FROM lease_end - clock_timestamp()) ELSE 0 END, backend
        FROM (SELECT name, holder, lease_end, coalesce((SELECT pid FROM pg_locks WHERE
            locktype = 'transactionid' AND granted AND transactionid = p.xmax AND pid <> pg_backend_pid()), 0) AS backend
          FROM dispatchstore_partitions AS p WHERE name = $1\(locks ? " FOR UPDATE" : "")) AS p
        """, .text(partition), .seconds(settings.lease), .seconds(settings.patience))
    }

    /// Ends the process of the server's that serves a connection.
    static func terminate(backend: Int64) -> PostgreSQLStatement {
      PostgreSQLStatement("SELECT pg_terminate_backend($1::int)", .integer(backend))
    }

    static func release(_ partition: String, _ holder: PostgreSQLHolder) -> PostgreSQLStatement {
      PostgreSQLStatement(
        """
        UPDATE dispatchstore_partitions SET lease_end = '-infinity', holder = ''
        WHERE name = $1 AND holder = $2
        """, .text(partition), .text(holder.text))
    }

    // MARK: Stores

    static func findStore(_ identifier: String, of partition: String) -> PostgreSQLStatement {
      PostgreSQLStatement(
        """
        SELECT number, version, type_name, type_version FROM dispatchstore_stores
        WHERE partition = $1 AND identifier = $2
        """, .text(partition), .text(escaped(identifier)))
    }

    static func save(
      _ store: SavedStore, _ identifier: String, of partition: String
    ) -> PostgreSQLStatement {
      PostgreSQLStatement(
        """
        INSERT INTO dispatchstore_stores (partition, identifier, version, type_name, type_version)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (partition, identifier) DO UPDATE SET version = excluded.version,
          type_name = excluded.type_name, type_version = excluded.type_version
        RETURNING number
        """, .text(partition), .text(escaped(identifier)),
        .integer(Int64(bitPattern: store.version)), .text(store.typeName),
        .integer(Int64(store.typeVersion)))
    }

    static func save(_ versions: [Int64: UInt64]) -> PostgreSQLStatement {
      var (numbers, values) = (PostgreSQLArray(of: .integer), PostgreSQLArray(of: .integer))
      for (number, version) in versions {
        numbers.append(number)
        values.append(Int64(bitPattern: version))
      }
      return PostgreSQLStatement(
        """
        UPDATE dispatchstore_stores SET version = changed.version
        FROM unnest($1, $2) AS changed (number, version)
        WHERE dispatchstore_stores.number = changed.number
        """, numbers.parameter, values.parameter)
    }

    static func deleteStore(_ number: Int64) -> PostgreSQLStatement {
      PostgreSQLStatement("DELETE FROM dispatchstore_stores WHERE number = $1", .integer(number))
    }

    // MARK: Rows

    static func save(
      _ rows: some Sequence<(store: Int64, row: SavedRow, value: Data)>
    ) -> PostgreSQLStatement {
      var (places, texts) = (PostgreSQLPlaces(), PostgreSQLArray(of: .text))
      var bytes = PostgreSQLArray(of: .bytes)
      for (store, row, value) in rows {
        places.append(store, row)
        // As text, psql shows it, and the server's JSON functions accept it.
        let isText = value.withUnsafeBytes { isUTF8($0) && !$0.contains(0) }
        texts.append(isText ? value : nil)
        bytes.append(isText ? nil : value)
      }
      return PostgreSQLStatement(
        """
        INSERT INTO dispatchstore_rows (store, part, key, value, bytes)
        SELECT * FROM unnest($1, $2, $3, $4, $5)
        ON CONFLICT (store, part, key) DO UPDATE SET value = excluded.value, bytes = excluded.bytes
        """, places.parameters + [texts.parameter, bytes.parameter])
    }

    static func delete(
      _ rows: some Sequence<(store: Int64, row: SavedRow)>
    ) -> PostgreSQLStatement {
      var places = PostgreSQLPlaces()
      for (store, row) in rows { places.append(store, row) }
      return PostgreSQLStatement(
        """
        DELETE FROM dispatchstore_rows USING unnest($1, $2, $3) AS gone (store, part, key)
        WHERE dispatchstore_rows.store = gone.store AND dispatchstore_rows.part = gone.part
          AND dispatchstore_rows.key = gone.key
        """, places.parameters)
    }

    static func deleteRows(ofStore number: Int64) -> PostgreSQLStatement {
      PostgreSQLStatement("DELETE FROM dispatchstore_rows WHERE store = $1", .integer(number))
    }

    static func lastPart(ofStore number: Int64) -> PostgreSQLStatement {
      PostgreSQLStatement(
        "SELECT coalesce(max(part), 0) FROM dispatchstore_rows WHERE store = $1", .integer(number))
    }

    /// - Parameter last: The last key, escaped, of the page before; nil for the first page.
    static func rows(
      ofStore number: Int64, part: Int, after last: String?, limit: Int
    ) -> PostgreSQLStatement {
      PostgreSQLStatement(
        """
        SELECT key, value, bytes FROM dispatchstore_rows
        WHERE store = $1 AND part = $2 AND ($3::text IS NULL OR key > $3) ORDER BY key LIMIT $4
        """, .integer(number), .integer(Int64(part)), last.map(Parameter.text) ?? Parameter(),
        .integer(Int64(limit)), hasBinaryResults: true)
    }

    // MARK: The user's

    /// The first word of a statement that would end the transaction or split it; nil for all others.
    static func transactionWord(of sql: String) -> String? {
      var text = sql[...].drop(while: \.isWhitespace)
      while let end = text.hasPrefix("--") ? "\n" : text.hasPrefix("/*") ? "*/" : nil {
        let comment = text.dropFirst(2)
        text = comment[(comment.firstRange(of: end)?.upperBound ?? text.endIndex)...]
          .drop(while: \.isWhitespace)
      }
      let word = text.drop { !$0.isLetter }.prefix { $0.isLetter }.uppercased()
      let words = ["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "PREPARE"]
      return words.contains(word) ? word : nil
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

    var parameters: [PostgreSQLStatement.Parameter] {
      [stores.parameter, parts.parameter, keys.parameter]
    }
  }

  extension PostgreSQLStatement.Parameter {
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

  extension PostgreSQLResult {
    /// The value of a column that was sent as text.
    func value(_ row: Int, _ column: Int) -> DatabaseValue {
      guard let bytes = bytes(row, column) else { return .null }
      let text = String(decoding: bytes, as: UTF8.self)
      switch type(ofColumn: column) {
      case 16: return .integer(text == "t" ? 1 : 0)
      case 17: return .blob(Data(hexadecimal: text.dropFirst(2)))
      case 20, 21, 23, 26: return Int64(text).map(DatabaseValue.integer) ?? .text(text)
      case 700, 701: return Double(text).map(DatabaseValue.real) ?? .text(text)
      // A sum of integers has this type, too.
      case 1700:
        return Int64(text).map(DatabaseValue.integer) ?? Double(text).map(DatabaseValue.real)
          ?? .text(text)
      default: return .text(text)
      }
    }
  }

  extension Data {
    fileprivate init(hexadecimal text: Substring) {
      let digits = text.utf8.map { UInt8($0 < 58 ? $0 - 48 : $0 - 87) }
      self.init(
        stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }
  }

  /// Writes a zero byte, which the server's text can't hold, as `\0`, and a backslash as two.
  func escaped(_ key: String) -> String {
    guard key.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "\\") }) else { return key }
    return key.replacing("\\", with: "\\\\").replacing("\0", with: "\\0")
  }

  func unescaped(_ key: String) -> String {
    guard key.utf8.contains(UInt8(ascii: "\\")) else { return key }
    var (text, isEscape) = ("", false)
    for character in key.unicodeScalars {
      switch (isEscape, character) {
      case (false, "\\"): isEscape = true
      case (true, "0"): (text, isEscape) = (text + "\0", false)
      default:
        text.unicodeScalars.append(character)
        isEscape = false
      }
    }
    return text
  }
#endif
