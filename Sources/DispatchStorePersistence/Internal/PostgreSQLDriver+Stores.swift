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
      _ = try run(.deleteAllRows(store: number), "deleting store \(number)")
      _ = try run(.deleteStore(number), "deleting store \(number)")
    }

    /// The size above which rows are sent before the transaction's end: the server takes no message of 1 GiB.
    private static let largestMessage = 16 << 20

    package func save(_ value: Data?, at row: SavedRow, ofStore number: Int64) throws {
      guard let transaction else { throw noTransaction() }
      transaction.save(value, at: row, ofStore: number)
      // The server ends a transaction that is idle, and one that registers or migrates a large store encodes for long.
      let isIdle = transaction.hasBegun && client.now - lastExchange > lease / 8
      if isIdle || transaction.byteCount > Self.largestMessage { _ = try send("saving rows") }
    }

    /// The number of rows that are in memory at a time while they are read.
    private static let page = 5_000

    package func forEachRow(
      ofStore number: Int64, part: Int, _ body: (_ key: String, _ value: Data) throws -> Void
    ) throws {
      let action = "reading the rows of store \(number)"
      var last: String?
      while true {
        // Until it has analysed the table, the server takes few rows for the store's, and would sort all of them for each
        // page.
        let results = try send(
          action,
          [.avoidSorting, .rows(store: number, part: part, after: last, limit: Self.page)])
        let rows = results[results.count - 1]
        for row in 0..<rows.rowCount {
          last = rows.text(row, 0)
          try body(unescaped(last!), rows.data(row, 1) ?? rows.data(row, 2) ?? Data())
          // The server ends a transaction that is idle, and decoding a page may take long. Any statement will do.
          if client.now - lastExchange > lease / 8 { _ = try run(.lastPart(store: number), action) }
        }
        if rows.rowCount < Self.page { return }
      }
    }

    package func lastPart(ofStore number: Int64) throws -> Int {
      Int(try run(.lastPart(store: number), "reading the rows of store \(number)").integer(0, 0))
    }
  }
#endif
