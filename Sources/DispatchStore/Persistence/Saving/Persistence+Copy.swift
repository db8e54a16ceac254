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
  /// - Throws: A `PersistenceError`, with the code `inUse` if a database is open, `cannotOpen` if the source has no
  ///   stores, and `alreadyRegistered` if the target has one. `CancellationError` if the task was cancelled while it
  ///   waited for another owner's end. The target is unchanged then, unless `isOutcomeKnown` of the error is
  ///   false: a new attempt throws `alreadyRegistered` if it has the copy.
  public static func copy(
    from source: PersistenceDatabase, to target: PersistenceDatabase
  ) async throws {
    let queue = DispatchQueue(label: "DispatchStore.copy")
    let (from, to) = (source.makeDriver(), target.makeDriver())
    try await withTaskCancellationHandler {
      try await blocking(on: queue, in: nil) {
        defer {
          from.close()
          to.close()
        }
        guard from.isThere else { throw noStores(in: from) }
        let reader = try from.open()
        let writer = Writer(to, try to.open())
        _ = try from.begin(as: reader)
        // Ends without a commit, which could fail when the target's has happened.
        defer { from.rollback() }
        do {
          try writer.inTransaction { to in try copyStores(from, to) }
        } catch let error as PersistenceError where !error.isOutcomeKnown {
          // Only the reply may be lost.
          guard (try? writer.wasCommitted()) == true else { throw error }
        }
      }
    } onCancel: {
      from.cancelOpening()
      to.cancelOpening()
    }
  }

  private static func copyStores(
    _ source: any PersistenceDriver, _ target: any PersistenceDriver
  ) throws {
    let identifiers = try source.storeIdentifiers()
    if identifiers.isEmpty { throw noStores(in: source) }
    if let identifier = try target.storeIdentifiers().first {
      throw PersistenceError(
        .alreadyRegistered,
        "\(target.description) isn't empty: it has the store \"\(identifier)\". Copy to a new one.")
    }
    for identifier in identifiers {
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

  private static func noStores(in source: any PersistenceDriver) -> PersistenceError {
    PersistenceError(
      .cannotOpen,
      "\(source.description) has no stores: is its path or partition right? Nothing was copied.")
  }
}
