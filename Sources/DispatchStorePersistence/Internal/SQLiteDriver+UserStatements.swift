#if SQLite
  import CSQLite
  package import DispatchStore

  extension SQLiteDriver {
    package func execute(_ sql: String, _ values: [DatabaseValue]) throws -> Int {
      try inTransaction { session in
        let connection = session.connection.handle
        let before = sqlite3_total_changes(connection)
        try session.run(user: sql, values) { _ in }
        // SQLite doesn't reset the count for statements that change no rows, like CREATE TABLE.
        let hasChanged = sqlite3_total_changes(connection) != before
        return hasChanged ? Int(sqlite3_changes(connection)) : 0
      }
    }

    package func query(_ sql: String, _ values: [DatabaseValue]) throws -> [[DatabaseValue]] {
      try inTransaction { session in
        var rows: [[DatabaseValue]] = []
        try session.run(user: sql, values) { rows.append($0.values) }
        return rows
      }
    }
  }

  extension SQLiteSession {
    /// Runs a statement of the user's, and calls a closure at each row.
    fileprivate func run(
      user sql: String, _ values: [DatabaseValue], _ body: (SQLiteStatement) -> Void
    ) throws {
      let statement = try userStatements.statement(sql) { try connection.prepare(user: $0) }
      let indices = statement.valueIndices
      let expected = (indices.max() ?? -1) + 1
      guard values.count == expected else {
        throw connection.refused("it has \(expected) parameters, but \(values.count) values", sql)
      }
      defer {
        sqlite3_reset(statement.handle)
        // Values may be large, and the statement may not run again for long.
        sqlite3_clear_bindings(statement.handle)
      }
      for (parameter, index) in indices.enumerated() {
        try statement.bind(values[index], at: Int32(parameter + 1))
      }
      try connection.gate.during(.running) {
        while true {
          switch sqlite3_step(statement.handle) {
          case SQLITE_ROW: body(statement)
          case SQLITE_DONE: return
          case let code: throw connection.userError(code, sql)
          }
        }
      }
    }
  }
#endif
