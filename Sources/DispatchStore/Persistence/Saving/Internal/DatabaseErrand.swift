/// Work with the database besides groups of commits: a registration, a deletion, or a log.
///
/// It runs in a transaction of its own.
final class DatabaseErrand: Sendable {
  /// Whether it runs again if the database was busy or full; otherwise it ends with that error, and holds up no group.
  let retries: Bool
  /// Does the work, in the transaction.
  let run: @Sendable (any PersistenceDriver) throws -> Void
  /// Called once, when the transaction is committed, or with the reason why it is not; never if the errand is removed.
  let ended: @Sendable (PersistenceError?) -> Void

  init(
    retries: Bool = true,
    _ run: @escaping @Sendable (any PersistenceDriver) throws -> Void = { _ in },
    end ended: @escaping @Sendable (PersistenceError?) -> Void
  ) {
    (self.retries, self.run, self.ended) = (retries, run, ended)
  }

  /// An errand that does nothing but take the number of this one's transaction, which has failed.
  ///
  /// If the number is taken, the database has committed an earlier attempt of this one, which ends without an error.
  func standIn(after error: PersistenceError) -> DatabaseErrand {
    let hasRun = Locked(false)
    return DatabaseErrand { _ in
      hasRun.withLock { $0 = true }
    } end: { failure in
      self.ended(failure ?? (hasRun.withLock(\.self) ? error : nil))
    }
  }
}
