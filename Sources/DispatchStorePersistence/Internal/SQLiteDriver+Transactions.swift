#if SQLite
  import CSQLite
  package import DispatchStore
  import Foundation

  extension SQLiteDriver {
    package func begin(as owner: PersistenceOwner) throws -> Bool {
      let session = try opened()
      try session.checkPlace()
      session.fatalError = nil
      try session.statements.begin.run("beginning a transaction")
      do {
        if try session.countGroup(after: owner) { return true }
        let saved = try session.savedOwner()
        guard saved == PersistenceOwner(epoch: owner.epoch, group: owner.group + 1) else {
          throw notOwner(owner, saved)
        }
        session.rollBack()
        return false
      } catch {
        session.rollBack()
        throw error
      }
    }

    package func commit() throws {
      let session = try opened()
      try session.inTransaction { _ in }
      let (connection, statement) = (session.connection, session.statements.commit)
      let code = sqlite3_step(statement.handle)
      // For a COMMIT, SQLite's own function may still tell the error of an earlier statement.
      let systemError = errno
      guard code != SQLITE_DONE else {
        sqlite3_reset(statement.handle)
        return
      }
      let error = connection.error(code, "committing a transaction", systemError: systemError)
      sqlite3_reset(statement.handle)
      // While the transaction is still open, nothing of it has been saved.
      let isKnown = connection.isInTransaction || SQLiteConnection.provesRollback(code, error.code)
      session.rollBack()
      throw PersistenceError(error.code, error.message, isOutcomeKnown: isKnown)
    }

    package func rollback() {
      (try? opened())?.rollBack()
    }

    private func notOwner(_ owner: PersistenceOwner, _ saved: PersistenceOwner) -> PersistenceError
    {
      PersistenceError(
        .notOwner,
        """
        \(description): another process has become its owner: its epoch is \(saved.epoch), and its \
        last group \(saved.group); this process has epoch \(owner.epoch), and group \(owner.group).
        """)
    }
  }

  extension SQLiteSession {
    /// Counts up the number of the last group; returns false if the saved owner isn't `owner`.
    fileprivate func countGroup(after owner: PersistenceOwner) throws -> Bool {
      let statement = statements.countGroup
      try statement.bind(owner.epoch, at: 1)
      try statement.bind(owner.group, at: 2)
      try statement.run("counting a group")
      return sqlite3_changes(connection.handle) == 1
    }

    fileprivate func savedOwner() throws -> PersistenceOwner {
      var owner: PersistenceOwner?
      let statement = statements.readOwner
      try statement.forEachRow("reading the owner") {
        owner = PersistenceOwner(epoch: statement.integer(at: 0), group: statement.integer(at: 1))
      }
      guard let owner else {
        throw PersistenceError(
          .corrupt, "\(connection.description) has lost the row of its owner.")
      }
      return owner
    }
  }
#endif
