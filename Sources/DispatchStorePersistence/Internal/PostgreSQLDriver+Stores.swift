#if PostgreSQL || SIMULATION
  package import DispatchStore
  package import Foundation

  extension PostgreSQLDriver {
    package func storeIdentifiers() throws -> [String] {
      let rows = try run(.storeIdentifiers(partition: place.partition), "reading the stores")
      return (0..<rows.rowCount).map { unescaped(rows.text($0, 0)) }
    }

    package func store(_ identifier: String) throws -> SavedStore? {
      let row = try run(
        .findStore(identifier, partition: place.partition), "reading the store \"\(identifier)\"")
      guard row.rowCount == 1 else { return nil }
      return SavedStore(
        number: row.integer(0, 0), version: UInt64(bitPattern: row.integer(0, 1)),
        typeName: unescaped(row.text(0, 2)), typeVersion: Int(row.integer(0, 3)))
    }

    package func save(_ store: SavedStore, _ identifier: String) throws -> Int64 {
      try run(
        .saveStore(store, identifier, partition: place.partition),
        "saving the store \"\(identifier)\""
      ).integer(0, 0)
    }

    package func save(version: UInt64, ofStore number: Int64) throws {
      guard let transaction else { throw noTransaction() }
      transaction.versions[number] = version
    }

    package func delete(store number: Int64) throws {
      // In pages: the owner could be replaced during a statement that takes longer than its lease.
      for part in 0...(try lastPart(ofStore: number)) {
        try forEachRow(ofStore: number, part: part) { key, _ in
          try save(nil, at: SavedRow(part: part, key: key), ofStore: number)
        }
      }
      _ = try run(.deleteStore(number), "deleting store \(number)")
    }

    /// The size above which rows are sent before the transaction's end.
    ///
    /// The server takes no message of 1 GiB, and while a copy is sent, the transaction that it is read in is idle.
    private static let largestMessage = 4 << 20

    package func save(_ value: Data?, at row: SavedRow, ofStore number: Int64) throws {
      guard let transaction else { throw noTransaction() }
      transaction.save(value, at: row, ofStore: number)
      // The server ends a transaction that is idle, and one that registers or migrates a large store encodes for long.
      let isIdle = transaction.hasBegun && client.now - lastExchange > lease / 8
      if isIdle || transaction.byteCount > Self.largestMessage { _ = try send("saving rows") }
    }

    /// The bounds of the rows that are in memory at a time while they are read.
    ///
    /// If a database is copied to another one, the transaction of that one is idle while a page is on its way.
    private static let page = (rows: 5_000, bytes: 1 << 20)

    package func forEachRow(
      ofStore number: Int64, part: Int, _ body: (_ key: String, _ value: Data) throws -> Void
    ) throws {
      let action = "reading the rows of store \(number)"
      var last: String?
      // The size of the rows is known once some are there, and the next ones may be larger.
      var limit = 8
      while true {
        // Until it has analysed the table, the server takes few rows for the store's, and would sort all of them for each
        // page.
        let results = try send(
          action,
          [.avoidSorting, .rows(store: number, part: part, after: last, limit: limit)])
        let rows = results[results.count - 1]
        var bytes = 0
        for row in 0..<rows.rowCount {
          last = rows.text(row, 0)
          let value = rows.data(row, 1) ?? rows.data(row, 2) ?? Data()
          bytes += value.count
          try body(unescaped(last!), value)
          // The server ends a transaction that is idle, and decoding a page may take long. Any statement will do.
          if client.now - lastExchange > lease / 8 { _ = try run(.lastPart(store: number), action) }
        }
        if rows.rowCount < limit { return }
        let fitting = Self.page.bytes * limit / max(bytes, 1)
        limit = max(min(Self.page.rows, fitting, limit * 4), 1)
      }
    }

    package func lastPart(ofStore number: Int64) throws -> Int {
      Int(try run(.lastPart(store: number), "reading the rows of store \(number)").integer(0, 0))
    }
  }
#endif
