#if PostgreSQL || SIMULATION
  package import DispatchStore
  package import Foundation

  /// The process and the network, as far as the driver needs them: libpq, or a simulation of both.
  package protocol PostgreSQLClient: Sendable {
    /// The text by which the process is known as an owner.
    var holder: String { get }

    /// Whether it is known that the process of a holder has ended.
    func isDead(_ holder: PostgreSQLHolder) -> Bool

    /// Connects to the server.
    func connect() throws(PostgreSQLFailure) -> any PostgreSQLConnection

    /// The time since some moment.
    var now: Duration { get }

    /// Blocks the calling thread for a time.
    func pause(for time: Duration)
  }

  /// A connection to a server.
  package protocol PostgreSQLConnection: AnyObject {
    /// Runs statements in one exchange with the server; those after one that fails do not run.
    func run(_ statements: [PostgreSQLStatement]) throws(PostgreSQLFailure)
      -> [any PostgreSQLResult]

    /// Whether a transaction is in progress, perhaps a failed one.
    var isInTransaction: Bool { get }
  }

  /// The rows of a statement.
  package protocol PostgreSQLResult {
    var rowCount: Int { get }
    /// The number of rows that the statement has changed.
    var changedCount: Int { get }
    /// A value as text; empty for null.
    func text(_ row: Int, _ column: Int) -> String
    /// The bytes of a value; nil for null.
    func data(_ row: Int, _ column: Int) -> Data?
    /// A row of a statement of the user's.
    func values(_ row: Int) -> [DatabaseValue]
  }

  extension PostgreSQLResult {
    func integer(_ row: Int, _ column: Int) -> Int64 { Int64(text(row, column)) ?? 0 }
    func isTrue(_ row: Int, _ column: Int) -> Bool { text(row, column) == "t" }
  }

  extension PostgreSQLConnection {
    func run(_ statement: PostgreSQLStatement) throws(PostgreSQLFailure) -> any PostgreSQLResult {
      try run([statement])[0]
    }
  }

  /// An error of the server's, or a lost connection.
  package struct PostgreSQLFailure: Error {
    /// The place of the statement that failed among those that were sent.
    package var index: Int
    let sqlState: String
    let message: String
    /// Whether the connection is lost, so that nobody knows what the server has done.
    let isLost: Bool

    /// Whether the session is of no use: it is lost, or it only reads, and may still do so when the server writes again.
    var endsSession: Bool { isLost || sqlState == "25006" }

    package init(index: Int = 0, sqlState: String, message: String, isLost: Bool) {
      (self.index, self.sqlState, self.message, self.isLost) = (index, sqlState, message, isLost)
    }

    /// The kind of the error.
    private var code: PersistenceError.Code {
      switch sqlState {
      case "53100": .full
      // A server that only reads may become the one that writes.
      case "55P03", "25P03", "25P04", "25006": .busy
      // A pooler has sent it to a connection for which it was not prepared.
      case "26000": .busy
      case "XX001", "XX002": .corrupt
      default:
        switch sqlState.prefix(2) {
        case _ where isLost: .busy
        case "08", "40", "53", "57": .busy
        case "58", "F0", "XX": .inputOutput
        default: .statement
        }
      }
    }

    func error(
      _ action: String, in place: PostgreSQLPlace, isOutcomeKnown: Bool = true
    ) -> PersistenceError {
      PersistenceError(
        code, "\(place.description): \(action) failed: \(message) (SQLSTATE \(sqlState)).",
        isOutcomeKnown: isOutcomeKnown)
    }
  }
#endif
