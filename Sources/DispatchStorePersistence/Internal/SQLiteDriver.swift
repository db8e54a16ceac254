#if SQLite
  package import DispatchStore
  import Foundation

  /// The driver for SQLite.
  ///
  /// It isn't safe to call from two threads at once, which `Persistence` promises not to do.
  package final class SQLiteDriver: PersistenceDriver, @unchecked Sendable {
    private let path: String
    private let settings: SQLiteSettings
    private let patience: Duration
    private var session: SQLiteSession?

    /// Creates a driver.
    ///
    /// - Parameter patience: How long `open` waits while another program has the database locked.
    package init(path: String, settings: SQLiteSettings, patience: Duration = .seconds(5)) {
      (self.path, self.settings, self.patience) = (path, settings, patience)
    }

    deinit { close() }

    package var description: String { SQLiteConnection.describe(path) }

    /// Also if only the files beside it are there: opening says that its own is missing then.
    package var isThere: Bool {
      ["", "-wal", "-owner"].contains { DatabasePlace.size(path + $0) > 0 }
    }

    package func open() throws -> PersistenceOwner {
      let session = try SQLiteSession(DatabasePlace(path), settings, patience: patience)
      self.session = session
      return session.owner
    }

    package func close() {
      session?.close()
      session = nil
    }

    package var journalBytes: Int {
      session.map { DatabasePlace.size($0.connection.path + "-wal") } ?? 0
    }

    /// The session, if the database is open.
    func opened() throws -> SQLiteSession {
      guard let session else { throw PersistenceError(.closed, "\(description) isn't open.") }
      return session
    }

    /// Runs a closure that needs a transaction.
    func inTransaction<T>(_ body: (SQLiteSession) throws -> T) throws -> T {
      try opened().inTransaction(body)
    }
  }
#endif
