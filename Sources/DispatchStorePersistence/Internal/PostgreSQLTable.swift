#if PostgreSQL || SIMULATION
  /// A table of the library's.
  package struct PostgreSQLTable {
    /// The version of the tables.
    static let format = Int64(1)

    package let name: String
    /// The names of the columns, with their types.
    package let columns: KeyValuePairs<String, String>
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

    package static let all = [
      PostgreSQLTable(
        name: "dispatchstore_partitions",
        columns: [
          "name": "text", "format": "integer", "epoch": "bigint", "last_group": "bigint",
          "lease_end": "timestamp with time zone", "holder": "text",
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
