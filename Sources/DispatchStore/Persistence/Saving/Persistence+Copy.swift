import Dispatch

extension Persistence {
  /// Copies what a database has into an empty one: to move to PostgreSQL, or back to SQLite.
  ///
  ///     try await Persistence.copy(
  ///       from: .sqlite(path: "shop.db"), to: .postgreSQL(url: "postgresql://shop@db.internal/shop"))
  ///
  /// It copies all stores with their versions, idempotency keys, schedules, and the work of durable effects, in one
  /// transaction. Tables of your own are not copied. Nobody may have one of the databases open: end the program first.
  ///
  /// - Throws: A `PersistenceError`, with the code `inUse` if a database is open, and `alreadyRegistered` if the target
  ///   has a store. The target is unchanged then.
  public static func copy(
    from source: PersistenceDatabase, to target: PersistenceDatabase
  ) async throws {
    let queue = DispatchQueue(label: "DispatchStore.copy")
    try await blocking(on: queue, in: nil) {
      let (from, to) = (source.makeDriver(), target.makeDriver())
      defer {
        from.close()
        to.close()
      }
      let reader = Writer(from, try from.open())
      let writer = Writer(to, try to.open())
      try reader.inTransaction { from in
        try writer.inTransaction { to in try copyStores(from, to) }
      }
    }
  }

  private static func copyStores(
    _ source: any PersistenceDriver, _ target: any PersistenceDriver
  ) throws {
    if let identifier = try target.storeIdentifiers().first {
      throw PersistenceError(
        .alreadyRegistered,
        "\(target.description) isn't empty: it has the store \"\(identifier)\". Copy to a new one.")
    }
    for identifier in try source.storeIdentifiers() {
      guard let store = try source.store(identifier) else { continue }
      let number = try target.save(store, identifier)
      for part in 0...(try source.lastPart(ofStore: store.number)) {
        var count = 0
        try source.forEachRow(ofStore: store.number, part: part) { key, value in
          try target.save(value, at: SavedRow(part: part, key: key), ofStore: number)
          count += 1
          // A driver may keep rows in memory until something is read.
          if count.isMultiple(of: 5_000) { _ = try target.lastPart(ofStore: number) }
        }
      }
    }
  }
}
