#if SQLite
  import DispatchStore
  import Foundation

  extension SQLiteConnection {
    /// Applies the settings, and checks that SQLite has accepted them.
    func configure(_ pragmas: PragmaCheck, maySkipSync: Bool) throws {
      // The user's come first: `key` and `page_size` have no effect later.
      for statement in pragmas.statements { try run(statement) }
      // First of all, because all text is read as UTF-8, and so are the answers below.
      guard try run("PRAGMA encoding") == [["UTF-8"]] else {
        throw PersistenceError(
          .notADatabase, "\(description) is encoded in UTF-16; only UTF-8 keeps every key as it is."
        )
      }
      for (name, value) in Self.ownPragmas where !pragmas.names.contains(name) {
        try run("PRAGMA \(name) = \(value)")
      }
      try verify("journal_mode", "wal", by: run("PRAGMA journal_mode = WAL"))
      try verify("journal_mode", "wal", by: run("PRAGMA journal_mode"))
      try verify("locking_mode", "normal", by: run("PRAGMA locking_mode"))
      if !maySkipSync {
        try verify("synchronous", 2, or: 3, by: run("PRAGMA synchronous"))
      }
    }

    /// Settings that the user's pragmas may replace, within the limits of `PragmaCheck`.
    private static var ownPragmas: [(name: String, value: String)] {
      var pragmas = [
        ("synchronous", "FULL"), ("journal_size_limit", "67108864"),
        // In KiB. With SQLite's 2 MB, a large group with keys in no order is saved at half the speed.
        ("cache_size", "-8192"),
      ]
      #if canImport(Darwin)
        // A plain fsync there leaves the data in the disk's cache.
        pragmas += [("fullfsync", "1"), ("checkpoint_fullfsync", "1")]
      #endif
      return pragmas
    }

    private func verify(
      _ name: String, _ value: DatabaseValue, or other: DatabaseValue? = nil,
      by rows: [[DatabaseValue]]
    ) throws {
      guard let found = rows.first?.first, found == value || found == other else {
        throw PersistenceError(
          .notDurable,
          """
          \(description): \(name) is \(rows.first?.first.map { "\($0)" } ?? "unknown") where it has \
          to be \(value). The file system or the SQLite library doesn't support it.
          """)
      }
    }
  }
#endif
