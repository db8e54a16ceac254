#if SQLite
  import CSQLite
  import DispatchStore
  import Foundation

  extension SQLiteStatement {
    /// The values of the row at which the statement stands.
    var values: [DatabaseValue] {
      (0..<sqlite3_column_count(handle)).map { value(at: $0) }
    }

    func integer(at column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func text(at column: Int32) -> String {
      String(decoding: bytes(at: column), as: UTF8.self)
    }

    func data(at column: Int32) -> Data { Data(bytes(at: column)) }

    private func value(at column: Int32) -> DatabaseValue {
      switch sqlite3_column_type(handle, column) {
      case SQLITE_INTEGER: .integer(integer(at: column))
      case SQLITE_FLOAT: .real(sqlite3_column_double(handle, column))
      case SQLITE_TEXT: .text(text(at: column))
      case SQLITE_BLOB: .blob(data(at: column))
      default: .null
      }
    }

    /// A value's bytes, until the statement moves on.
    ///
    /// For text they are UTF-8, since `open` refuses a database with another encoding.
    private func bytes(at column: Int32) -> UnsafeRawBufferPointer {
      // The address comes first: asking for it may convert the value, and so change the count.
      let base = sqlite3_column_blob(handle, column)
      return UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(handle, column)))
    }
  }
#endif
