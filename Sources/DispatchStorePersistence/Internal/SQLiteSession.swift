#if SQLite
  import CSQLite
  import DispatchStore
  import Foundation

  /// An open database: from a driver's `open` to its `close`.
  final class SQLiteSession {
    let connection: SQLiteConnection
    let statements: DriverStatements
    let owner: PersistenceOwner
    var userStatements = StatementCache(capacity: 64)
    /// The error that ended the transaction before its commit.
    var fatalError: PersistenceError?

    private let lock: OwnerLock
    private let journal: FileIdentity?

    /// Becomes the owner of a database.
    ///
    /// - Parameter patience: How long another program may have the database locked.
    init(_ place: DatabasePlace, _ settings: SQLiteSettings, patience: Duration) throws {
      let pragmas = try PragmaCheck(settings, database: SQLiteConnection.describe(place.path))
      lock = try OwnerLock(database: place.path)
      do {
        try place.checkFile(wasOpen: lock.wasOpen)
        let connection = try SQLiteConnection(path: place.path)
        self.connection = connection
        do {
          (owner, statements) = try Self.retrying(patience, connection) {
            try connection.configure(pragmas, maySkipSync: settings.maySkipSync)
            return try Self.start(connection)
          }
          connection.isOpening = false
          journal = FileIdentity(path: place.path + "-wal")
          lock.noteOpen()
        } catch {
          // The lock goes last: the next owner must not meet this connection.
          connection.close()
          throw error
        }
      } catch {
        lock.release()
        throw error
      }
    }

    private static func start(
      _ connection: SQLiteConnection
    ) throws -> (PersistenceOwner, DriverStatements) {
      try connection.run("BEGIN IMMEDIATE")
      defer { connection.rollBack() }
      let owner = try connection.becomeOwner()
      let statements = try DriverStatements(connection)
      try connection.run("COMMIT")
      return (owner, statements)
    }

    private static func retrying<T>(
      _ patience: Duration, _ connection: SQLiteConnection, _ body: () throws -> T
    ) throws -> T {
      let deadline = ContinuousClock.now + patience
      while true {
        do {
          return try body()
        } catch let error as PersistenceError where error.code == .busy {
          guard ContinuousClock.now < deadline else {
            throw PersistenceError(
              .busy,
              "\(connection.description) has been locked by another program for \(patience).",
              cause: error)
          }
          Thread.sleep(forTimeInterval: 0.005)
        }
      }
    }

    /// Throws `moved` if what would be written now could not be found at the database's path.
    func checkPlace() throws {
      var hasMoved: Int32 = 0
      sqlite3_file_control(connection.handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
      guard hasMoved == 0 else { throw moved("file") }
      // SQLite doesn't look at the WAL itself, which holds the latest commits.
      guard FileIdentity(path: connection.path + "-wal") == journal else {
        throw moved("-wal file")
      }
    }

    private func moved(_ file: String) -> PersistenceError {
      PersistenceError(
        .moved,
        """
        \(connection.description): its \(file) was removed, renamed or replaced while it was open. \
        Put it back, and start the process again.
        """)
    }

    /// Runs a closure that needs a transaction.
    func inTransaction<T>(_ body: (SQLiteSession) throws -> T) throws -> T {
      // Outside of a transaction, SQLite would commit every single statement.
      guard connection.isInTransaction else { throw fatalError ?? noTransaction }
      do {
        return try body(self)
      } catch let error as PersistenceError {
        if !connection.isInTransaction { fatalError = error }
        throw error
      }
    }

    private var noTransaction: PersistenceError {
      PersistenceError(.statement, "\(connection.description): there is no transaction.")
    }

    func rollBack() {
      connection.rollBack()
      fatalError = nil
    }

    func close() {
      connection.close()
      lock.release()
    }
  }
#endif
