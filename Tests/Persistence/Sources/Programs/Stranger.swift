import CSQLite

/// Another program's connection to an SQLite database.
public final class Stranger {
  private var handle: OpaquePointer?

  /// Opens a database, and makes it if there is none and it is to be written.
  public init(_ path: String, onlyReads: Bool = false) {
    let flags = onlyReads ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    sqlite3_open_v2(path, &handle, flags, nil)
  }

  deinit { sqlite3_close_v2(handle) }

  /// Runs statements.
  public func run(_ sql: String) throws {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure }
  }

  /// Runs a query, and returns its rows as text.
  public func rows(_ sql: String) throws -> [[String]] {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw failure }
    var rows: [[String]] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      rows.append(
        (0..<sqlite3_column_count(statement)).map {
          String(cString: sqlite3_column_text(statement, $0))
        })
    }
    return rows
  }

  private var failure: Failure { Failure(message: String(cString: sqlite3_errmsg(handle))) }

  private struct Failure: Error { let message: String }
}
