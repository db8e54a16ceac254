#if SQLite
  import CSQLite
  import DispatchStore
  import Foundation

  extension SQLiteConnection {
    /// The error of the call that has just failed with `code`.
    ///
    /// - Parameters:
    ///   - action: The name of the failed call, as in "saving a row".
    ///   - sql: The user's statement.
    ///   - systemError: The operating system's error, if SQLite doesn't keep it.
    func error(
      _ code: Int32, _ action: String, sql: String? = nil, systemError: Int32? = nil
    ) -> PersistenceError {
      let systemError = systemError ?? sqlite3_system_errno(handle)
      var message = "\(description): \(action) failed: \(String(cString: sqlite3_errmsg(handle)))"
      message += " (SQLite error \(code)"
      if code & 0xFF == SQLITE_IOERR || code & 0xFF == SQLITE_CANTOPEN, systemError != 0 {
        message += ", \(String(cString: strerror(systemError)))"
      }
      message += ")."
      if let sql { message += " The statement: \(sql)" }
      return PersistenceError(
        Self.kind(of: code, systemError: systemError, isOpening: isOpening), message)
    }

    /// The kind of error for a result code, which may be an extended one.
    static func kind(
      of code: Int32, systemError: Int32, isOpening: Bool
    ) -> PersistenceError.Code {
      switch code & 0xFF {
      // A protocol error says that too many others were opening the database at the same time.
      case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .busy
      case SQLITE_FULL: .full
      // SQLite itself only knows ENOSPC, and only for writing: not a quota, and not the WAL's
      // shared memory.
      case SQLITE_IOERR where systemError == ENOSPC || systemError == EDQUOT: .full
      case SQLITE_NOTADB where isOpening: .notADatabase
      case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
      case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH, SQLITE_CANTOPEN:
        isOpening ? .cannotOpen : .inputOutput
      case SQLITE_CONSTRAINT, SQLITE_SCHEMA, SQLITE_ERROR, SQLITE_MISUSE, SQLITE_TOOBIG,
        SQLITE_MISMATCH, SQLITE_RANGE, SQLITE_ABORT:
        .statement
      default: .inputOutput
      }
    }

    /// Whether a failed COMMIT with this code has certainly saved nothing, although it ended the transaction.
    ///
    /// A frame of the WAL that could not be written can't be read back as a commit. After a failed fsync it can: the
    /// frames may be in the file, and count after a crash.
    static func provesRollback(_ code: Int32, _ kind: PersistenceError.Code) -> Bool {
      switch code & 0xFF {
      case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_CONSTRAINT: true
      default: code == SQLITE_IOERR | (3 << 8) && kind == .full  // SQLITE_IOERR_WRITE
      }
    }
  }
#endif
