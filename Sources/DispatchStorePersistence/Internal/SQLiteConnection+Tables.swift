#if SQLite
  import DispatchStore

  extension SQLiteConnection {
    /// The format of the tables that this version reads and writes.
    private static let format: Int64 = 1

    /// Makes the tables if none is there, checks them otherwise, and counts up the epoch; in a transaction.
    func becomeOwner() throws -> PersistenceOwner {
      let existing = try SQLiteTable.all.filter { try !$0.foundColumns(in: self).isEmpty }
      if existing.isEmpty {
        try makeTables()
      } else {
        try checkFormat()
        for table in existing { try table.check(in: self) }
        if let missing = SQLiteTable.all.first(where: { table in
          !existing.contains { $0.name == table.name }
        }) {
          throw PersistenceError(.corrupt, "\(description) has lost its table \"\(missing.name)\".")
        }
      }
      try run("UPDATE main.dispatchstore_owner SET epoch = epoch + 1 WHERE id = 1")
      let rows = try run("SELECT epoch, last_group FROM main.dispatchstore_owner WHERE id = 1")
      guard let row = rows.first, case .integer(let epoch) = row[0],
        case .integer(let group) = row[1]
      else {
        throw PersistenceError(
          .corrupt, "\(description) has no valid row in its table \"\(SQLiteTable.owner.name)\".")
      }
      return PersistenceOwner(epoch: epoch, group: group)
    }

    private func makeTables() throws {
      for table in SQLiteTable.all { try run(table.sql) }
      try run("INSERT INTO main.dispatchstore_owner VALUES (1, \(Self.format), 0, 0)")
    }

    /// Reads the format before anything else: a newer one may have other columns.
    private func checkFormat() throws {
      let columns = try SQLiteTable.owner.foundColumns(in: self)
      guard columns.contains(where: { $0.name == "format" }) else { return }
      let rows = try run("SELECT format FROM main.dispatchstore_owner")
      guard case .integer(let format)? = rows.first?.first, format > Self.format else { return }
      throw PersistenceError(
        .newerVersion,
        """
        \(description) was written by a newer version of the library, in format \(format); this one \
        knows formats up to \(Self.format). Update the library.
        """)
    }
  }
#endif
