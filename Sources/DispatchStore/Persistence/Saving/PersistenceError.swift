/// The reason why state could not be saved or loaded.
public struct PersistenceError: Error, Sendable {
  /// The kind of error.
  public let code: Code
  /// The database, store and key concerned, what happened, and what to do about it.
  public let message: String
  /// The error that caused it.
  public let cause: (any Error)?
  /// Whether it is known that the commits concerned were not saved.
  ///
  /// False if the database failed while it committed them.
  public let isOutcomeKnown: Bool

  package init(
    _ code: Code, _ message: String, cause: (any Error)? = nil, isOutcomeKnown: Bool = true
  ) {
    (self.code, self.message) = (code, message)
    (self.cause, self.isOutcomeKnown) = (cause, isOutcomeKnown)
  }

  /// Whether the same may succeed later.
  package var isTransient: Bool { code == .busy || code == .full }

  /// Kinds of errors.
  ///
  /// Later versions may add more.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The code's name.
    public let description: String

    /// The database can't be opened: a wrong path, or no rights.
    public static let cannotOpen = Code(description: "cannotOpen")
    /// The file is no database, or has tables of another program.
    public static let notADatabase = Code(description: "notADatabase")
    /// Another process, which the message names, has the database open.
    public static let inUse = Code(description: "inUse")
    /// Another process has become the owner of the database since.
    public static let notOwner = Code(description: "notOwner")
    /// The database is older than what this process has saved, as after a restored backup.
    public static let journalWentBack = Code(description: "journalWentBack")
    /// A newer version of the library, or of the persisted type, has written the rows.
    public static let newerVersion = Code(description: "newerVersion")
    /// The setting or the place would lose acknowledged commits.
    public static let notDurable = Code(description: "notDurable")
    /// The database is locked by another program; the write is tried again.
    public static let busy = Code(description: "busy")
    /// There is no room for the write; it is tried again.
    public static let full = Code(description: "full")
    /// The database file was removed, renamed or replaced while it was open, or is missing at the start although there
    /// was one.
    public static let moved = Code(description: "moved")
    /// Reading or writing failed.
    public static let inputOutput = Code(description: "inputOutput")
    /// The database is damaged.
    public static let corrupt = Code(description: "corrupt")
    /// A statement failed: a constraint, a missing table, a syntax error.
    public static let statement = Code(description: "statement")
    /// A saved value is of another type, or can't be decoded.
    public static let notDecodable = Code(description: "notDecodable")
    /// A value can't be encoded.
    public static let notEncodable = Code(description: "notEncodable")
    /// A migration threw, or there is none for the saved version.
    public static let migration = Code(description: "migration")
    /// A projection threw.
    public static let projection = Code(description: "projection")
    /// Another store with this identifier is persisted in the same database, so that this one is not registered, or its
    /// changes are not saved.
    public static let alreadyRegistered = Code(description: "alreadyRegistered")
    /// The persistence was closed.
    public static let closed = Code(description: "closed")
  }
}

extension PersistenceError: CustomStringConvertible {
  /// The code and the message.
  public var description: String { "\(code): \(message)" }
}
