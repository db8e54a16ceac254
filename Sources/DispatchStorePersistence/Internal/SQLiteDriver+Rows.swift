#if SQLite
  package import DispatchStore
  package import Foundation

  extension SQLiteDriver {
    package func save(_ value: Data?, at row: SavedRow, ofStore number: Int64) throws {
      try inTransaction { session in
        let isRemoval = value == nil
        let statement = isRemoval ? session.statements.deleteRow : session.statements.saveRow
        try statement.bind(number, at: 1)
        try statement.bind(Int64(row.part), at: 2)
        var key = row.key
        try key.withUTF8 { key in
          try statement.bind(UnsafeRawBufferPointer(key), isText: true, copies: false, at: 3)
          let action = isRemoval ? "removing" : "saving"
          guard let value else { return try statement.run("\(action) \(row) of store \(number)") }
          try value.withUnsafeBytes { bytes in
            // The sqlite3 tool shows a value that is text, and SQLite's JSON functions accept it.
            let isText = String(validating: bytes, as: UTF8.self) != nil
            try statement.bind(bytes, isText: isText, copies: false, at: 4)
            try statement.run("\(action) \(row) of store \(number)")
          }
        }
      }
    }

    package func lastPart(ofStore number: Int64) throws -> Int {
      try inTransaction { session in
        let statement = session.statements.lastPart
        var part = 0
        try statement.bind(number, at: 1)
        try statement.forEachRow("reading the rows of store \(number)") {
          part = Int(statement.integer(at: 0))
        }
        return part
      }
    }

    /// Calls a closure with each saved row of one part of a store.
    ///
    /// The closure must not call this function of the driver again, and should not save rows of the same part.
    package func forEachRow(
      ofStore number: Int64, part: Int, _ body: (_ key: String, _ value: Data) throws -> Void
    ) throws {
      try inTransaction { session in
        let statement = session.statements.rowsOfPart
        try statement.bind(number, at: 1)
        try statement.bind(Int64(part), at: 2)
        try statement.forEachRow("reading the rows of store \(number)") {
          try body(statement.text(at: 0), statement.data(at: 1))
        }
      }
    }
  }
#endif
