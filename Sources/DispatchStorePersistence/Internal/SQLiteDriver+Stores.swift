#if SQLite
  import CSQLite
  package import DispatchStore

  extension SQLiteDriver {
    package func storeIdentifiers() throws -> [String] {
      try inTransaction { session in
        var identifiers: [String] = []
        let statement = session.statements.allStores
        try statement.forEachRow("reading the stores") { identifiers.append(statement.text(at: 0)) }
        return identifiers
      }
    }

    package func store(_ identifier: String) throws -> SavedStore? {
      try inTransaction { try $0.store(identifier) }
    }

    package func save(_ store: SavedStore, _ identifier: String) throws -> Int64 {
      try inTransaction { session in
        let statement = session.statements.saveStore
        try statement.bind(identifier, at: 1)
        try statement.bind(Int64(bitPattern: store.version), at: 2)
        try statement.bind(store.typeName, at: 3)
        try statement.bind(Int64(store.typeVersion), at: 4)
        try statement.run("saving the store \"\(identifier)\"")
        guard let number = try session.store(identifier)?.number else {
          throw missing("store \"\(identifier)\"")
        }
        return number
      }
    }

    package func save(version: UInt64, ofStore number: Int64) throws {
      try inTransaction { session in
        let statement = session.statements.saveVersion
        try statement.bind(number, at: 1)
        try statement.bind(Int64(bitPattern: version), at: 2)
        try statement.run("saving the version of store \(number)")
        // The store's rows would be saved without a store, and never found again.
        if sqlite3_changes(session.connection.handle) == 0 { throw missing("store \(number)") }
      }
    }

    package func delete(store number: Int64) throws {
      try inTransaction { session in
        for statement in [session.statements.deleteRows, session.statements.deleteStore] {
          try statement.bind(number, at: 1)
          try statement.run("deleting store \(number)")
        }
      }
    }

    private func missing(_ store: String) -> PersistenceError {
      PersistenceError(.corrupt, "\(description) has lost the row of its \(store).")
    }
  }

  extension SQLiteSession {
    fileprivate func store(_ identifier: String) throws -> SavedStore? {
      var store: SavedStore?
      let statement = statements.findStore
      try statement.bind(identifier, at: 1)
      try statement.forEachRow("reading the store \"\(identifier)\"") {
        store = SavedStore(
          number: statement.integer(at: 0), version: UInt64(bitPattern: statement.integer(at: 1)),
          typeName: statement.text(at: 2), typeVersion: Int(statement.integer(at: 3)))
      }
      return store
    }
  }
#endif
