#if PostgreSQL || SIMULATION
  package import DispatchStore
  import Foundation

  extension PostgreSQLDriver {
    /// The largest size of a statement's values: at twice that the server closes the connection, again and again.
    private static let largestValues = 512 << 20

    package func execute(_ sql: String, _ values: [DatabaseValue]) throws -> Int {
      try runUser(sql, values).changedCount
    }

    package func query(_ sql: String, _ values: [DatabaseValue]) throws -> [[DatabaseValue]] {
      let result = try runUser(sql, values)
      return (0..<result.rowCount).map { result.values($0) }
    }

    /// Runs a statement in a savepoint: if it fails, and the program catches the error, the transaction goes on.
    private func runUser(_ sql: String, _ values: [DatabaseValue]) throws -> any PostgreSQLResult {
      if let word = PostgreSQLStatement.transactionWord(of: sql) {
        throw PersistenceError(
          .statement, "\(description): \(word) ends or splits the library's transaction: \(sql)")
      }
      if PostgreSQLStatement.copiesFromOrToClient(sql) {
        throw PersistenceError(
          .statement, "\(description): COPY needs a connection of its own: \(sql)")
      }
      // libpq would cut the text there.
      let hasZero = values.contains {
        if case .text(let text) = $0 { text.utf8.contains(0) } else { false }
      }
      if hasZero || sql.utf8.contains(0) {
        throw PersistenceError(
          .statement,
          "\(description): text can't have a zero character there. The statement: \(sql)")
      }
      let size = values.reduce(0) { $0 + $1.byteCount }
      guard size <= Self.largestValues else {
        throw PersistenceError(
          .statement,
          "\(description): values have \(size >> 20) MiB, and can have 512. The statement: \(sql)")
      }
      do {
        let results = try send("a statement", [.savepoint, .user(sql, values), .releaseSavepoint])
        return results[results.count - 2]
      } catch let error as PersistenceError {
        undoStatement()
        throw PersistenceError(
          error.code, "\(error.message) The statement: \(sql)", isOutcomeKnown: error.isOutcomeKnown
        )
      }
    }

    /// Undoes a failed statement of the user's; if another one has failed, there is no savepoint, and the error stays.
    private func undoStatement() {
      guard transaction != nil, let connection else { return }
      let former = failure
      do {
        _ = try exchange("undoing a statement", on: connection) {
          try $0.run([.rollbackToSavepoint, .releaseSavepoint])
        }
        failure = nil
      } catch {
        // If the connection is lost, the transaction is tried again, although the program may have caught the error.
        if self.connection != nil { failure = former }
      }
    }
  }

  extension DatabaseValue {
    fileprivate var byteCount: Int {
      switch self {
      case .text(let text): text.utf8.count
      case .blob(let data): data.count
      case .null, .integer, .real: 8
      }
    }
  }
#endif
