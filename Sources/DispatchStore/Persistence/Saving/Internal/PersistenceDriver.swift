package import Foundation

/// A database behind `Persistence`.
///
/// `Persistence` calls it from one thread at a time, and never from two at once. Every call blocks. All functions
/// throw `PersistenceError`; the codes `busy` and `full` say that trying again may help.
package protocol PersistenceDriver: AnyObject, Sendable {
  /// The kind and the place of the database, for messages: `SQLite database "/srv/shop.db"`.
  var description: String { get }

  /// Whether there may be a database; if not, opening makes one.
  var isThere: Bool { get }

  /// Opens the database, makes missing tables, and makes this process the owner: counts up the epoch.
  func open() throws -> PersistenceOwner

  /// Ends a wait in `open`, which then throws `CancellationError`; called from any thread.
  func cancelOpening()

  /// The time without a group after which an empty one renews the owner's lease; nil if there is no lease.
  var leaseRenewal: Duration? { get }

  /// Whether the owner's lease is over by this process's clock, so that another process may be the owner; called from any
  /// thread.
  var isLeaseOver: Bool { get }

  /// Renews the lease if it is partly over; called with each row that is encoded, also before the transaction begins.
  func keepLease()

  /// Begins a transaction.
  ///
  /// Its first statement compares the saved owner with `owner`, and counts up the number of the last group. Throws
  /// `notOwner` if another process has become the owner.
  ///
  /// - Returns: False, without a transaction, if the saved owner is `owner` with the next group: this group's
  ///   transaction has been committed, although its `commit` threw.
  func begin(as owner: PersistenceOwner) throws -> Bool

  /// Commits the transaction.
  ///
  /// After an error the transaction may have been committed if `isOutcomeKnown` is false.
  func commit() throws

  /// Ends the transaction, if there is one, without its changes.
  func rollback()

  /// The size of the database's journal in bytes; zero if it has none of its own.
  ///
  /// It grows while another program's reading keeps it from being emptied.
  var journalBytes: Int { get }

  /// Closes the database, and lets another process own it.
  func close()

  // In a transaction:

  /// The identifiers of all saved stores.
  func storeIdentifiers() throws -> [String]

  /// The saved store with this identifier.
  func store(_ identifier: String) throws -> SavedStore?

  /// Saves a store's version and type; returns the number under which its rows are saved.
  func save(_ store: SavedStore, _ identifier: String) throws -> Int64

  /// Saves a store's new version.
  func save(version: UInt64, ofStore number: Int64) throws

  /// Removes a store with all of its rows.
  func delete(store number: Int64) throws

  /// Saves a row, or removes it if `value` is nil.
  func save(_ value: Data?, at row: SavedRow, ofStore number: Int64) throws

  /// Calls a closure with each saved row of one part of a store, in no particular order.
  func forEachRow(
    ofStore number: Int64, part: Int, _ body: (_ key: String, _ value: Data) throws -> Void
  ) throws

  /// The highest part of which a store has rows.
  func lastPart(ofStore number: Int64) throws -> Int

  /// Runs a statement of the user's; returns the number of changed rows.
  func execute(_ sql: String, _ values: [DatabaseValue]) throws -> Int

  /// Runs a query of the user's; returns its rows.
  func query(_ sql: String, _ values: [DatabaseValue]) throws -> [[DatabaseValue]]
}

/// The owner of a database: each process that opens it counts up the epoch, and each group of commits the number.
package struct PersistenceOwner: Equatable, Sendable {
  package var epoch: Int64
  /// The number of the last group that was committed.
  package var group: Int64

  package init(epoch: Int64, group: Int64) {
    (self.epoch, self.group) = (epoch, group)
  }
}

/// A store as it is saved, without its rows.
package struct SavedStore: Equatable, Sendable {
  /// The number under which its rows are saved; zero for a store that was not saved yet.
  package var number: Int64
  /// The store's version: the number of its commits.
  package var version: UInt64
  /// The name and the version of the persisted type.
  package var typeName: String
  package var typeVersion: Int

  package init(number: Int64 = 0, version: UInt64, typeName: String, typeVersion: Int) {
    (self.number, self.version) = (number, version)
    (self.typeName, self.typeVersion) = (typeName, typeVersion)
  }
}

/// The place of a row among the rows of its store.
package struct SavedRow: Hashable, Sendable {
  /// 0 for the model, 1 for the elements of the first dictionary, and so on.
  package var part: Int
  /// The element's key; empty for the model.
  package var key: String

  package init(part: Int, key: String) {
    (self.part, self.key) = (part, key)
  }
}

extension PersistenceDriver {
  package var isThere: Bool { true }
  package func cancelOpening() {}
  package var leaseRenewal: Duration? { nil }
  package var isLeaseOver: Bool { false }
  package func keepLease() {}
}
