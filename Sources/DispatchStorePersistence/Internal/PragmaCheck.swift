#if SQLite
  import CSQLite
  import DispatchStore
  import Foundation

  /// Checks the user's pragmas before they run.
  ///
  /// Many pragmas take effect while SQLite compiles them. They are therefore compiled for a database in memory, and
  /// SQLite tells their names and values: spellings like `main.Synchronous('off')` need no parsing here.
  struct PragmaCheck {
    /// The user's pragmas as whole statements.
    let statements: [String]
    /// The names of the settings that the user's pragmas set.
    let names: Set<String>

    init(_ settings: SQLiteSettings, database: String) throws {
      let memory = try SQLiteConnection(path: ":memory:")
      defer { memory.close() }
      var names: Set<String> = []
      statements = settings.pragmas.map(Self.statement)
      for statement in statements {
        let pragma = try Self.compile(statement, on: memory, database: database)
        guard let value = pragma.value else { continue }
        names.insert(pragma.name)
        if let reason = Self.objection(to: pragma.name, value, maySkipSync: settings.maySkipSync) {
          throw PersistenceError(.notDurable, "\(database): \(statement) is refused: \(reason)")
        }
      }
      self.names = names
    }

    /// A pragma as a whole statement.
    static func statement(_ text: String) -> String {
      let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
      let isWhole =
        text.lowercased().hasPrefix("pragma") && text.dropFirst(6).first?.isWhitespace ?? true
      return isWhole ? text : "PRAGMA \(text)"
    }

    private final class Pragma {
      var name = ""
      var value: String?
    }

    private static func compile(
      _ statement: String, on memory: SQLiteConnection, database: String
    ) throws -> Pragma {
      let pragma = Pragma()
      sqlite3_set_authorizer(
        memory.handle,
        { context, action, first, second, _, _ in
          guard let context, action == SQLITE_PRAGMA, let first else { return SQLITE_OK }
          let pragma = Unmanaged<Pragma>.fromOpaque(context).takeUnretainedValue()
          pragma.name = String(cString: first).lowercased()
          pragma.value = second.map { String(cString: $0).lowercased() }
          return SQLITE_OK
        },
        Unmanaged.passUnretained(pragma).toOpaque())
      defer { sqlite3_set_authorizer(memory.handle, nil, nil) }
      do {
        try withExtendedLifetime(pragma) { _ = try memory.prepareOnly(statement) }
      } catch let error as PersistenceError {
        throw PersistenceError(
          .statement, "\(database): the setting \"\(statement)\" is no PRAGMA.", cause: error)
      }
      return pragma
    }

    /// Why a pragma would lose acknowledged commits, if it would.
    private static func objection(to name: String, _ value: String, maySkipSync: Bool) -> String? {
      switch name {
      case "journal_mode" where value != "wal":
        "the journal mode is always WAL, and there is no permission for another."
      case "locking_mode" where value != "normal":
        "the locking mode is always NORMAL, and there is no permission for another."
      case "synchronous" where !maySkipSync && !["full", "extra", "2", "3"].contains(value):
        "a lower level than FULL loses acknowledged commits; maySkipSync permits it."
      case "fullfsync" where !maySkipSync && !["1", "on", "yes", "true"].contains(value),
        "checkpoint_fullfsync" where !maySkipSync && !["1", "on", "yes", "true"].contains(value):
        "without it, acknowledged commits may be lost; maySkipSync permits it."
      default: nil
      }
    }
  }
#endif
