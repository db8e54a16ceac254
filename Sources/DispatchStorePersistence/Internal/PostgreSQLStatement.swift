#if PostgreSQL || SIMULATION
  package import DispatchStore
  package import Foundation

  /// A statement of the driver's, by what it is for; `PostgreSQLQuery` has its text.
  package enum PostgreSQLStatement {
    case begin
    case commit
    case rollback
    /// Limits how long the transaction may wait for a lock, and how long it may stand still.
    ///
    /// A process that stands still would keep the partition's row from all others.
    case limits(wait: Duration, idle: Duration)

    // Opening:

    /// Reads whether the server is a standby, and its settings of these names.
    case settings([String])
    case lockTables
    case makeTable(PostgreSQLTable)
    /// Reads the columns of the library's tables that are there.
    case columns
    /// Reads the newest version of the tables that a partition has.
    case format
    case addPartition(String)
    /// Reads the holder, whether it has the lease, and for how many seconds.
    ///
    /// A transaction that has the row keeps the lease with each statement: a lease that it has renewed can't be seen before
    /// its commit.
    case readHolder(partition: String, lease: Duration, locks: Bool)
    /// Ends the connection whose transaction has the partition's row.
    case endLocker(partition: String)
    case takeOver(partition: String, holder: String, lease: Duration)

    // Ownership:

    /// Compares the saved owner, counts up the number of the last group, and renews the lease.
    ///
    /// If another process has become the owner, it divides by zero: the statements after it do not run. If the owner
    /// stands still in the transaction, the server disconnects it before its lease ends.
    case fence(partition: String, PersistenceOwner, _ holder: String, lease: Duration)
    /// Renews the lease, after the comparison in the same transaction.
    case renew(partition: String, lease: Duration)
    /// Renews the lease in a transaction of its own, unless another process is the owner, or somebody has the row.
    ///
    /// It waits for neither the row nor a disk nor a standby server.
    case keepLease(partition: String, epoch: Int64, _ holder: String, lease: Duration)
    case readOwner(partition: String, locks: Bool)
    case release(partition: String, epoch: Int64, _ holder: String)

    // Stores and rows:

    case storeIdentifiers(partition: String)
    case findStore(String, partition: String)
    case saveStore(SavedStore, String, partition: String)
    /// Saves new versions; divides by zero if the row of a store is missing, so that nothing is committed.
    case saveVersions([Int64: UInt64])
    case deleteStore(Int64)
    case saveRows([(store: Int64, row: SavedRow, value: Data)])
    case deleteRows([(store: Int64, row: SavedRow)])
    case lastPart(store: Int64)
    /// Lets the transaction's queries take rows in an index's order rather than sort them.
    case avoidSorting
    /// Reads rows whose key, escaped, comes after one; with nil from the first on.
    case rows(store: Int64, part: Int, after: String?, limit: Int)

    // Statements of the user's:

    case user(String, [DatabaseValue])
    /// Sets the point to which the transaction goes back if the next statement fails.
    case savepoint
    case releaseSavepoint
    case rollbackToSavepoint
  }

  extension PostgreSQLStatement {
    var isCommit: Bool { if case .commit = self { true } else { false } }

    /// Whether it is sent with most groups, so that preparing it pays.
    var isPartOfGroups: Bool {
      switch self {
      case .fence, .saveVersions, .saveRows, .deleteRows: true
      default: false
      }
    }

    /// The first word of a statement that would end the transaction or split it; nil for all others.
    static func transactionWord(of sql: String) -> String? {
      let word = firstWord(of: sql)
      let words = [
        "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "PREPARE", "SAVEPOINT", "RELEASE",
      ]
      return words.contains(word) ? word : nil
    }

    /// Whether a statement copies rows from the client or to it: nothing else can be sent until it has ended.
    static func copiesFromOrToClient(_ sql: String) -> Bool {
      guard firstWord(of: sql) == "COPY" else { return false }
      // By scalars: an accent after a quotation mark would make another character of it.
      let commentOrQuote = #/--[^\n\r]*|/\*[\s\S]*?\*/|'[^']*'|"[^"]*"/#
        .matchingSemantics(.unicodeScalar)
      let words = sql.replacing(commentOrQuote, with: " ").uppercased()
        .split { !($0.isLetter || $0.isNumber || $0 == "_") }
      return words.contains("STDIN") || words.contains("STDOUT")
    }

    /// The first word after comments and empty statements, in upper case.
    private static func firstWord(of sql: String) -> String {
      func begins(_ text: Substring, _ mark: String) -> Bool {
        // By bytes: an accent after the mark would make another character of it.
        text.utf8.starts(with: mark.utf8)
      }
      var text = sql[...]
      while true {
        text = text.drop { $0.isWhitespace || $0 == ";" }
        if begins(text, "--") {
          text = text.drop { !["\n", "\r", "\r\n"].contains($0) }
        } else if begins(text, "/*") {
          text = afterComment(text)
        } else {
          return text.drop { !$0.isLetter }.prefix { $0.isLetter }.uppercased()
        }
      }
    }

    /// The text after the comment with which it begins; the server lets a comment have others in it.
    private static func afterComment(_ text: Substring) -> Substring {
      var (rest, depth) = (text.utf8, 0)
      repeat {
        let change = rest.starts(with: "/*".utf8) ? 1 : rest.starts(with: "*/".utf8) ? -1 : 0
        depth += change
        rest = rest.dropFirst(change == 0 ? 1 : 2)
      } while depth > 0 && !rest.isEmpty
      return Substring(rest)
    }
  }
#endif
