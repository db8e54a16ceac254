#if SQLite
  import CSQLite
  import DispatchStore

  extension SQLiteConnection {
    /// Prepares a statement of the user's.
    func prepare(user sql: String) throws -> SQLiteStatement {
      try gate.during(.preparing) { try prepareOnly(sql) }
    }

    /// Prepares the only statement in a text.
    func prepareOnly(_ sql: String) throws -> SQLiteStatement {
      // SQLite would end at the zero byte, and never see the rest.
      guard !sql.utf8.contains(0) else { throw refused("it contains a zero byte", sql) }
      return try sql.withCString { text in
        var tail: UnsafePointer<CChar>?
        guard let statement = try compile(text, &tail, sql) else {
          throw refused("there is no statement in it", sql)
        }
        let first = keep(statement)
        // Only comments and semicolons may follow the statement; SQLite compiles them to nothing.
        while let rest = tail, rest.pointee != 0 {
          var second: OpaquePointer?
          let code = sqlite3_prepare_v3(handle, rest, -1, 0, &second, &tail)
          sqlite3_finalize(second)
          guard code == SQLITE_OK, second == nil else {
            throw refused("there is more than one statement in it", sql)
          }
        }
        return first
      }
    }

    private func compile(
      _ text: UnsafePointer<CChar>, _ tail: inout UnsafePointer<CChar>?, _ sql: String
    ) throws -> OpaquePointer? {
      var statement: OpaquePointer?
      let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
      let code = sqlite3_prepare_v3(handle, text, -1, flags, &statement, &tail)
      guard code == SQLITE_OK else { throw userError(code, sql) }
      return statement
    }

    /// The error of a call for the user's statement that has just failed with `code`.
    func userError(_ code: Int32, _ sql: String) -> PersistenceError {
      if code & 0xFF == SQLITE_AUTH, let refusal = gate.refusal { return refused(refusal, sql) }
      return error(code, "running a statement", sql: sql)
    }

    func refused(_ reason: String, _ sql: String) -> PersistenceError {
      let reason = reason.hasSuffix(".") ? reason : reason + "."
      return PersistenceError(
        .statement, "\(description): a statement is refused: \(reason) The statement: \(sql)")
    }
  }
#endif
