/// Work with the database besides groups of commits: a registration, or a deletion.
///
/// It runs in a transaction of its own, and again if the database was busy.
final class DatabaseErrand: Sendable {
  private let body: @Sendable (any PersistenceDriver) throws -> Void
  private let end: @Sendable (PersistenceError?) -> Void

  init(
    _ body: @escaping @Sendable (any PersistenceDriver) throws -> Void,
    end: @escaping @Sendable (PersistenceError?) -> Void
  ) {
    (self.body, self.end) = (body, end)
  }

  func run(_ driver: any PersistenceDriver) throws { try body(driver) }

  /// Called once, when the transaction is committed, or with the reason why it is not.
  func ended(_ error: PersistenceError?) { end(error) }
}
