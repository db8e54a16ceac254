#if SQLite
  import CSQLite

  /// Refuses statements of the user's that would break the driver's transaction or its tables.
  ///
  /// SQLite asks it while it compiles a statement, so that no text has to be parsed here. It stays installed for as long
  /// as the connection is open: installing it makes SQLite compile all prepared statements again.
  final class StatementGate {
    enum Phase {
      /// The driver's own statements, which may do everything.
      case own
      /// A statement of the user's is being compiled.
      case preparing
      /// A statement of the user's runs. SQLite compiles it again if the tables have changed, perhaps now with triggers;
      /// and functions like `pragma_table_info` compile a harmless PRAGMA.
      case running
    }

    var phase = Phase.own
    /// Why the last statement was refused.
    private(set) var refusal: String?

    static let prefix = "dispatchstore_"

    func install(on connection: OpaquePointer) {
      sqlite3_set_authorizer(
        connection,
        { context, action, first, second, _, _ in
          guard let context else { return SQLITE_DENY }
          let gate = Unmanaged<StatementGate>.fromOpaque(context).takeUnretainedValue()
          return gate.decide(action, first, second)
        },
        Unmanaged.passUnretained(self).toOpaque())
    }

    /// Runs a closure for a statement of the user's.
    func during<T>(_ phase: Phase, _ body: () throws -> T) rethrows -> T {
      self.phase = phase
      refusal = nil
      defer { self.phase = .own }
      return try body()
    }

    private func decide(
      _ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?
    ) -> Int32 {
      guard phase != .own else { return SQLITE_OK }
      if phase == .preparing, let name = Self.forbidden(action, first) {
        refusal = "\(name) isn't permitted: the transaction and the connection are the library's."
        return SQLITE_DENY
      }
      if let table = Self.changedNames(action, first, second).first(where: Self.isOwn) {
        refusal = """
          "\(table)" can't be changed: names that begin with \(Self.prefix) are the library's, and \
          may only be read.
          """
        return SQLITE_DENY
      }
      return SQLITE_OK
    }

    private static func forbidden(_ action: Int32, _ first: UnsafePointer<CChar>?) -> String? {
      switch action {
      case SQLITE_TRANSACTION: first.map { String(cString: $0) } ?? "BEGIN"
      case SQLITE_SAVEPOINT: "SAVEPOINT"
      case SQLITE_ATTACH: "ATTACH"
      case SQLITE_DETACH: "DETACH"
      case SQLITE_PRAGMA: "PRAGMA"
      default: nil
      }
    }

    /// The names of the tables, indexes, triggers and views that an action changes.
    private static func changedNames(
      _ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?
    ) -> [String] {
      switch action {
      // The second name is a column's.
      case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE: [first].names
      case SQLITE_CREATE_INDEX, SQLITE_CREATE_TABLE, SQLITE_CREATE_TRIGGER, SQLITE_CREATE_VIEW,
        SQLITE_CREATE_TEMP_INDEX, SQLITE_CREATE_TEMP_TABLE, SQLITE_CREATE_TEMP_TRIGGER,
        SQLITE_CREATE_TEMP_VIEW, SQLITE_CREATE_VTABLE, SQLITE_DROP_INDEX, SQLITE_DROP_TABLE,
        SQLITE_DROP_TRIGGER, SQLITE_DROP_VIEW, SQLITE_DROP_TEMP_INDEX, SQLITE_DROP_TEMP_TABLE,
        SQLITE_DROP_TEMP_TRIGGER, SQLITE_DROP_TEMP_VIEW, SQLITE_DROP_VTABLE, SQLITE_ALTER_TABLE:
        [first, second].names
      default: []
      }
    }

    private static func isOwn(_ name: String) -> Bool { name.lowercased().hasPrefix(prefix) }
  }

  extension [UnsafePointer<CChar>?] {
    fileprivate var names: [String] { compactMap { $0.map { String(cString: $0) } } }
  }
#endif
