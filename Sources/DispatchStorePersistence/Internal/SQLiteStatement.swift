#if SQLite
  import CSQLite
  import DispatchStore
  import Foundation

  /// A prepared statement.
  final class SQLiteStatement {
    let handle: OpaquePointer
    let connection: SQLiteConnection

    init(_ handle: OpaquePointer, of connection: SQLiteConnection) {
      (self.handle, self.connection) = (handle, connection)
    }

    deinit { connection.finalize(handle) }

    // MARK: Parameters

    /// The index of each parameter's value, by the number in `$2` as in PostgreSQL.
    ///
    /// SQLite takes `$2` for a name, and numbers the names in the order of the text. A cast as in `$2::int` is a part of
    /// the name.
    private(set) lazy var valueIndices: [Int] = {
      let count = Int(sqlite3_bind_parameter_count(handle))
      return (0..<count).map { index -> Int in
        let name = sqlite3_bind_parameter_name(handle, Int32(index + 1))
        guard let text = name.map({ String(cString: $0) }), text.hasPrefix("$"),
          let number = Int(text.dropFirst().prefix { $0 != ":" && $0 != "(" }), number > 0
        else { return index }
        return number - 1
      }
    }()

    func bind(_ value: Int64, at index: Int32) throws {
      try check(sqlite3_bind_int64(handle, index, value))
    }

    /// Binds text or bytes.
    ///
    /// - Parameter copies: Whether SQLite copies them. Otherwise they have to live until the statement has run: SQLite
    ///   doesn't look at them after that, because every parameter is bound again before the statement runs again.
    func bind(
      _ bytes: UnsafeRawBufferPointer, isText: Bool, copies: Bool = true, at index: Int32
    ) throws {
      let destructor: sqlite3_destructor_type? = copies ? transientDestructor : nil
      let count = UInt64(bytes.count)
      switch (bytes.baseAddress, isText) {
      case (let base?, true):
        let characters = base.assumingMemoryBound(to: CChar.self)
        let encoding = UInt8(SQLITE_UTF8)
        try check(sqlite3_bind_text64(handle, index, characters, count, destructor, encoding))
      case (let base?, false):
        try check(sqlite3_bind_blob64(handle, index, base, count, destructor))
      // Without an address, SQLite would bind NULL.
      case (nil, true): try check(sqlite3_bind_text(handle, index, "", 0, transientDestructor))
      case (nil, false): try check(sqlite3_bind_zeroblob(handle, index, 0))
      }
    }

    /// Binds a copy of a text.
    func bind(_ text: String, at index: Int32) throws {
      var text = text
      try text.withUTF8 { try bind(UnsafeRawBufferPointer($0), isText: true, at: index) }
    }

    /// Binds a copy of a value.
    func bind(_ value: DatabaseValue, at index: Int32) throws {
      switch value {
      case .null: try check(sqlite3_bind_null(handle, index))
      case .integer(let integer): try bind(integer, at: index)
      case .real(let real): try check(sqlite3_bind_double(handle, index, real))
      case .text(let text): try bind(text, at: index)
      case .blob(let data):
        try data.withUnsafeBytes { try bind($0, isText: false, at: index) }
      }
    }

    private func check(_ code: Int32) throws {
      if code != SQLITE_OK { throw connection.error(code, "binding a value") }
    }

    // MARK: Running

    /// Runs the statement to its end, without looking at its rows.
    func run(_ action: @autoclosure () -> String) throws {
      try forEachRow(action()) {}
    }

    /// Runs the statement, and calls a closure when it stands at a row.
    func forEachRow(_ action: @autoclosure () -> String, _ body: () throws -> Void) throws {
      defer { sqlite3_reset(handle) }
      while true {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: try body()
        case SQLITE_DONE: return
        case let code: throw connection.error(code, action())
        }
      }
    }
  }

  /// Tells SQLite to copy a value; the macro `SQLITE_TRANSIENT` can't be imported.
  private var transientDestructor: sqlite3_destructor_type {
    unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  }
#endif
