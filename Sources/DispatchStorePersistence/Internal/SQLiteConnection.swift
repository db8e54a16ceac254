#if SQLite
  import CSQLite
  import DispatchStore
  import Foundation

  /// A connection to a database file.
  ///
  /// It does without SQLite's own mutex: `Persistence` never calls a driver from two threads at once.
  final class SQLiteConnection {
    let path: String
    let handle: OpaquePointer
    /// Refuses some statements of the user's.
    let gate = StatementGate()
    /// Whether errors about rights and about the file's format are errors of opening.
    var isOpening = true
    private var isClosed = false
    /// The statements that are to be finalized: SQLite's own list also has those of its extensions, like FTS5.
    private var statements: Set<OpaquePointer> = []

    init(path: String) throws {
      self.path = path
      // Other connections may be used on other threads at the same time.
      guard sqlite3_threadsafe() != 0 else {
        throw PersistenceError(
          .cannotOpen, "The SQLite library was built without support for threads.")
      }
      var handle: OpaquePointer?
      let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
      let code = sqlite3_open_v2(path, &handle, flags, nil)
      guard code == SQLITE_OK, let handle else {
        var reason = String(cString: sqlite3_errmsg(handle))
        let systemError = sqlite3_system_errno(handle)
        if systemError != 0 { reason += " (\(String(cString: strerror(systemError))))" }
        sqlite3_close_v2(handle)
        throw Self.cannotOpen(path, reason)
      }
      self.handle = handle
      // Instead of SQLITE_OPEN_EXRESCODE, which SQLite has only had since 3.37.
      sqlite3_extended_result_codes(handle, 1)
      gate.install(on: handle)
      // SQLite opens a file without the right to write as read-only, and says nothing.
      guard sqlite3_db_readonly(handle, "main") == 0 else {
        close()
        throw Self.cannotOpen(path, "there is no right to write to the file")
      }
    }

    deinit { close() }

    static func describe(_ path: String) -> String { "SQLite database \"\(path)\"" }

    static func cannotOpen(_ path: String, _ reason: String) -> PersistenceError {
      PersistenceError(.cannotOpen, "\(describe(path)) can't be opened: \(reason).")
    }

    var description: String { Self.describe(path) }

    /// Whether a transaction is open; some errors end it.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Closes the connection with all of its statements.
    ///
    /// SQLite would otherwise keep the file open until the last statement has gone, when another process may already own
    /// the database.
    func close() {
      guard !isClosed else { return }
      isClosed = true
      for statement in statements { sqlite3_finalize(statement) }
      statements = []
      sqlite3_close_v2(handle)
    }

    /// Prepares a statement of the driver's own, to be used many times.
    func prepare(_ sql: String) throws -> SQLiteStatement {
      var statement: OpaquePointer?
      let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
      let code = sqlite3_prepare_v3(handle, sql, -1, flags, &statement, nil)
      guard code == SQLITE_OK, let statement else { throw error(code, "preparing \(sql)") }
      return keep(statement)
    }

    /// Makes the connection responsible for a statement, until `finalize` or `close`.
    func keep(_ statement: OpaquePointer) -> SQLiteStatement {
      statements.insert(statement)
      return SQLiteStatement(statement, of: self)
    }

    /// Finalizes a statement, unless `close` has done it.
    func finalize(_ statement: OpaquePointer) {
      if statements.remove(statement) != nil { sqlite3_finalize(statement) }
    }

    /// Runs a statement of the driver's own once.
    @discardableResult
    func run(_ sql: String) throws -> [[DatabaseValue]] {
      let statement = try prepare(sql)
      var rows: [[DatabaseValue]] = []
      try statement.forEachRow("running \(sql)") { rows.append(statement.values) }
      return rows
    }

    /// Ends the transaction, if there is one.
    func rollBack() {
      // If ROLLBACK reports an error, SQLite has ended the transaction all the same.
      if isInTransaction { _ = try? run("ROLLBACK") }
    }
  }
#endif
