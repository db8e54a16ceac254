#if SQLite
  import DispatchStore
  import Foundation

  /// A table of the library's.
  struct SQLiteTable {
    struct Column: Equatable {
      let name: String
      let type: String
      /// The column's place in the primary key, from one; zero if it isn't part of it.
      let key: Int64
    }

    let name: String
    /// The text of CREATE TABLE from its brackets on.
    private let definition: String

    var sql: String { "CREATE TABLE main.\(name) \(definition)" }

    static let owner = SQLiteTable(
      name: "dispatchstore_owner",
      definition: """
        (id INTEGER PRIMARY KEY CHECK (id = 1), format INTEGER NOT NULL, epoch INTEGER NOT NULL,
        last_group INTEGER NOT NULL)
        """)

    static let stores = SQLiteTable(
      name: "dispatchstore_stores",
      definition: """
        (number INTEGER PRIMARY KEY, identifier TEXT NOT NULL UNIQUE, version INTEGER NOT NULL,
        type_name TEXT NOT NULL, type_version INTEGER NOT NULL)
        """)

    static let rows = SQLiteTable(
      name: "dispatchstore_rows",
      definition: """
        (store INTEGER NOT NULL, part INTEGER NOT NULL, key TEXT NOT NULL, value NOT NULL,
        PRIMARY KEY (store, part, key)) WITHOUT ROWID
        """)

    static let all = [owner, stores, rows]

    /// Checks that the table in the database is this one.
    func check(in connection: SQLiteConnection) throws {
      let (columns, found) = (try expectedColumns(), try foundColumns(in: connection))
      // A view has columns too, but can't be written to.
      let types = try connection.run("SELECT type FROM main.sqlite_master WHERE name = '\(name)'")
      guard types == [["table"]] else { throw foreign("it is no table", connection) }
      for column in columns where !found.contains(where: { $0.name == column.name }) {
        throw foreign("it has no column \"\(column.name)\"", connection)
      }
      for column in found where !columns.contains(column) {
        throw foreign("it has another column \"\(column.name)\"", connection)
      }
    }

    /// The table's columns, as SQLite reads them from its text.
    private func expectedColumns() throws -> [Column] {
      let memory = try SQLiteConnection(path: ":memory:")
      defer { memory.close() }
      try memory.run(sql)
      return try foundColumns(in: memory)
    }

    func foundColumns(in connection: SQLiteConnection) throws -> [Column] {
      try connection.run("PRAGMA main.table_info(\(name))").compactMap { row in
        guard case .text(let name) = row[1], case .text(let type) = row[2],
          case .integer(let key) = row[5]
        else { return nil }
        return Column(name: name, type: type.uppercased(), key: key)
      }
    }

    func foreign(_ reason: String, _ connection: SQLiteConnection) -> PersistenceError {
      PersistenceError(
        .notADatabase,
        """
        \(connection.description) has a table "\(name)" that isn't the library's: \(reason). Use \
        another file, or rename the table.
        """)
    }
  }
#endif
