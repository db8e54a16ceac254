#if PostgreSQL
  package import DispatchStore
  package import Foundation
  import Synchronization

  /// The driver for a partition of a PostgreSQL database.
  ///
  /// It isn't safe to call from two threads at once, which `Persistence` promises not to do.
  package final class PostgreSQLDriver: PersistenceDriver, @unchecked Sendable {
    let place: PostgreSQLPlace
    let settings: PostgreSQLSettings
    /// Whether opening waits for the present owner's end.
    let waits: Bool
    private let isOpeningCancelled = Atomic(false)
    private var connection: PostgreSQLConnection?
    private var epoch: Int64?
    /// The transaction in progress, whose statements are sent with its end or before something is read.
    private var transaction: PostgreSQLTransaction?
    /// Whether the last transaction may have been committed, although `commit` threw.
    private var isOutcomeOpen = false
    /// The owner of a transaction that was looked up and not found. The server may have read it since then.
    private var absent: PersistenceOwner?
    /// The text by which the partition's row names this opening.
    let holder = PostgreSQLHolder.inNewOpening

    init(_ place: PostgreSQLPlace, _ settings: PostgreSQLSettings, waits: Bool) {
      (self.place, self.settings, self.waits) = (place, settings, waits)
    }

    deinit { close() }

    package var description: String { place.description }

    package var journalBytes: Int { 0 }

    package var leaseRenewal: Duration? { settings.lease / 3 }

    package func cancelOpening() { isOpeningCancelled.store(true, ordering: .relaxed) }

    var mayGoOn: Bool { !isOpeningCancelled.load(ordering: .relaxed) }

    // MARK: Opening and closing

    package func open() throws -> PersistenceOwner {
      guard place.isValid else {
        throw PersistenceError(
          .cannotOpen,
          """
          \(description) can't be opened: the URL can't be read. Write it like \
          postgresql://user@host:5432/database, with special characters as %40, or as key=value pairs.
          """)
      }
      var hasConnected = false
      while true {
        do {
          let connection = try PostgreSQLConnection(place, settings)
          let wasConnected = hasConnected
          hasConnected = true
          do {
            let owner = try PostgreSQLOpening(connection, self).open()
            (self.connection, epoch) = (connection, owner.epoch)
            return owner
          } catch let error as PersistenceError
            where waits && (error.isTransient || wasConnected && error.code == .cannotOpen)
          {
            // The server is restarted, or another one takes its place.
          }
        } catch let failure as PostgreSQLConnection.Failure where !hasConnected {
          throw PersistenceError(.cannotOpen, "\(description) can't be opened: \(failure.message)")
        } catch is PostgreSQLConnection.Failure {
        }
        if !mayGoOn { throw CancellationError() }
        Thread.sleep(forTimeInterval: 0.1)
      }
    }

    package func close() {
      rollback()
      if let connection, epoch != nil {
        // If it fails, others wait for the end of the lease.
        _ = try? connection.run(.release(place.partition, holder))
      }
      (connection, epoch) = (nil, nil)
    }

    /// The connection, made anew if it was lost.
    private func connected() throws -> PostgreSQLConnection {
      guard epoch != nil else { throw PersistenceError(.closed, "\(description) isn't open.") }
      if let connection { return connection }
      do {
        let connection = try PostgreSQLConnection(place, settings)
        self.connection = connection
        return connection
      } catch let failure as PostgreSQLConnection.Failure {
        throw failure.error("connecting", in: place)
      }
    }

    /// Notes that the last transaction may have been committed, as after a lost connection.
    func noteLostReply() { (isOutcomeOpen, connection) = (true, nil) }

    // MARK: Transactions

    package func begin(as owner: PersistenceOwner) throws -> Bool {
      let connection = try connected()
      let fence = PostgreSQLStatement.fence(place.partition, owner, holder, settings)
      guard isOutcomeOpen else {
        transaction = PostgreSQLTransaction(owner, [.begin, fence])
        return true
      }
      // Waits until the server has ended the former connection's transaction, if that still runs: a plain SELECT would
      // not see its commit.
      transaction = PostgreSQLTransaction(owner, [])
      let row: PostgreSQLResult
      do {
        row = try exchange("looking up the last transaction", on: connection) {
          try $0.run([
            .begin, .waitForLocks(milliseconds: 2_000), .readOwner(place.partition, locks: true),
          ])[2]
        }
      } catch {
        rollback()
        try? endFormerTransaction(on: connection)
        throw error
      }
      switch try result(row, for: owner) {
      case .absent:
        (isOutcomeOpen, absent) = (false, owner)
        transaction = PostgreSQLTransaction(owner, [fence], hasBegun: true)
        return true
      case .saved:
        isOutcomeOpen = false
        rollback()
        return false
      case .failure(let error):
        rollback()
        throw error
      }
    }

    /// Ends a transaction of a former connection that has the row without making progress: the server has not noticed
    /// that the connection is lost.
    private func endFormerTransaction(on connection: PostgreSQLConnection) throws {
      let row = try connection.run(.readHolder(place.partition, settings, locks: false))
      guard row.rowCount == 1, row.text(0, 0) == holder.text, !row.isTrue(0, 1),
        row.integer(0, 3) != 0
      else { return }
      _ = try connection.run(.terminate(backend: row.integer(0, 3)))
    }

    package func commit() throws {
      let connection = try connected()
      guard let transaction else { throw noTransaction() }
      var statements = transaction.takeStatements()
      // The lease that the comparison has renewed is partly over.
      if transaction.began.duration(to: .now) > settings.lease / 3 {
        statements.append(.renew(place.partition, settings.lease))
      }
      statements.append(.commit)
      try exchange("committing a transaction", on: connection, commits: true) {
        try check(try $0.run(statements), of: transaction)
      }
      self.transaction = nil
    }

    package func rollback() {
      guard let transaction else { return }
      self.transaction = nil
      guard let connection, transaction.hasBegun || connection.isInTransaction else { return }
      if (try? connection.run(.rollback)) == nil { self.connection = nil }
    }

    /// Sends what is pending, and then a statement whose result is needed now.
    private func run(_ statement: PostgreSQLStatement, _ action: String) throws -> PostgreSQLResult
    {
      let connection = try connected()
      guard let transaction else { throw noTransaction() }
      let statements = transaction.takeStatements() + [statement]
      return try exchange(action, on: connection) { connection in
        let results = try connection.run(statements)
        try check(results, of: transaction)
        return results[results.count - 1]
      }
    }

    /// Runs statements, and turns a failure into an error.
    ///
    /// - Parameter commits: Whether they end the transaction: if the reply is lost, nobody knows whether it was saved.
    private func exchange<Value>(
      _ action: String, on connection: PostgreSQLConnection, commits: Bool = false,
      _ body: (PostgreSQLConnection) throws -> Value
    ) throws -> Value {
      do {
        return try body(connection)
      } catch let failure as PostgreSQLConnection.Failure {
        if failure.isLost {
          transaction = nil
          // Also if nothing was committed, the server may go on with it, and has the row until then.
          noteLostReply()
          throw failure.error(action, in: place, isOutcomeKnown: !commits)
        }
        throw try explain(failure, transaction, action)
      }
    }

    /// The error of a statement, or of the comparison at the transaction's begin.
    private func explain(
      _ failure: PostgreSQLConnection.Failure, _ transaction: PostgreSQLTransaction?,
      _ action: String
    ) throws -> PersistenceError {
      guard let transaction, failure.sqlState == "22012",
        transaction.fenceIndex == failure.index, let connection
      else { return failure.error(action, in: place) }
      rollback()
      let row = try exchange("reading the owner", on: connection) {
        try $0.run(.readOwner(place.partition, locks: false))
      }
      switch try result(row, for: transaction.owner) {
      case .saved where absent == transaction.owner:
        isOutcomeOpen = true
        return PersistenceError(
          .busy, "\(description): \(action) found that the group has been saved meanwhile.",
          isOutcomeKnown: false)
      case .failure(let error): return error
      case .absent, .saved: return wentBack(transaction.owner, savedOwner(row))
      }
    }

    /// Compares the number of saved versions with that of the stores that the group has changed.
    private func check(
      _ results: [PostgreSQLResult], of transaction: PostgreSQLTransaction
    ) throws {
      guard let (index, count) = transaction.sentVersions, index < results.count else { return }
      if results[index].changedCount != count {
        rollback()
        throw PersistenceError(.corrupt, "\(description) has lost the row of a store.")
      }
    }

    private func noTransaction() -> PersistenceError {
      PersistenceError(.statement, "\(description): there is no transaction.")
    }

    private func lostOwner() -> PersistenceError {
      PersistenceError(.corrupt, "\(description) has lost the row of its owner.")
    }

    /// What the partition's row says of the transaction that follows a group.
    private enum LookUp {
      case absent
      case saved
      case failure(PersistenceError)
    }

    private func savedOwner(_ row: PostgreSQLResult) -> PersistenceOwner {
      PersistenceOwner(epoch: row.integer(0, 0), group: row.integer(0, 1))
    }

    private func result(_ row: PostgreSQLResult, for owner: PersistenceOwner) throws -> LookUp {
      guard row.rowCount == 1 else { throw lostOwner() }
      let saved = savedOwner(row)
      if saved.epoch > owner.epoch, saved.group >= owner.group {
        return .failure(replaced(owner, saved))
      }
      guard saved.epoch == owner.epoch, row.text(0, 2) == holder.text else {
        return .failure(wentBack(owner, saved))
      }
      switch saved.group - owner.group {
      case 0: return .absent
      case 1: return .saved
      default: return .failure(wentBack(owner, saved))
      }
    }

    private func numbers(_ owner: PersistenceOwner, _ saved: PersistenceOwner) -> String {
      """
      its epoch is \(saved.epoch), and its last group \(saved.group); this process has epoch \(owner.epoch), and \
      group \(owner.group).
      """
    }

    private func replaced(
      _ owner: PersistenceOwner, _ saved: PersistenceOwner
    ) -> PersistenceError {
      // A group whose reply was lost may be the first of those that were saved since.
      let isKnown = saved.group == owner.group || !isOutcomeOpen && absent != owner
      return PersistenceError(
        .notOwner,
        "\(description): another process has become its owner: \(numbers(owner, saved))",
        isOutcomeKnown: isKnown)
    }

    private func wentBack(
      _ owner: PersistenceOwner, _ saved: PersistenceOwner
    ) -> PersistenceError {
      PersistenceError(
        .journalWentBack,
        """
        \(description) has gone back, as after a restored backup, or after a standby took over that was behind: \
        \(numbers(owner, saved)) Commits in between are lost.
        """)
    }

    // MARK: Stores

    package func store(_ identifier: String) throws -> SavedStore? {
      let row = try run(
        .findStore(identifier, of: place.partition), "reading the store \"\(identifier)\"")
      guard row.rowCount == 1 else { return nil }
      return SavedStore(
        number: row.integer(0, 0), version: UInt64(bitPattern: row.integer(0, 1)),
        typeName: row.text(0, 2), typeVersion: Int(row.integer(0, 3)))
    }

    package func save(_ store: SavedStore, _ identifier: String) throws -> Int64 {
      try run(
        .save(store, identifier, of: place.partition), "saving the store \"\(identifier)\""
      ).integer(0, 0)
    }

    package func save(version: UInt64, ofStore number: Int64) throws {
      guard let transaction else { throw noTransaction() }
      transaction.versions[number] = version
    }

    package func delete(store number: Int64) throws {
      _ = try run(.deleteRows(ofStore: number), "deleting store \(number)")
      _ = try run(.deleteStore(number), "deleting store \(number)")
    }

    // MARK: Rows

    package func save(_ value: Data?, at row: SavedRow, ofStore number: Int64) throws {
      guard let transaction else { throw noTransaction() }
      transaction.save(value, at: row, ofStore: number)
    }

    /// The number of rows that are in memory at a time while they are read.
    private static let page = 5_000

    package func forEachRow(
      ofStore number: Int64, part: Int, _ body: (_ key: String, _ value: Data) throws -> Void
    ) throws {
      var last: String?
      while true {
        let rows = try run(
          .rows(ofStore: number, part: part, after: last, limit: Self.page),
          "reading the rows of store \(number)")
        for row in 0..<rows.rowCount {
          last = rows.text(row, 0)
          let value = rows.bytes(row, 1) ?? rows.bytes(row, 2)
          try body(unescaped(last!), value.map { Data($0) } ?? Data())
        }
        if rows.rowCount < Self.page { return }
      }
    }

    package func lastPart(ofStore number: Int64) throws -> Int {
      Int(try run(.lastPart(ofStore: number), "reading the rows of store \(number)").integer(0, 0))
    }

    // MARK: The user's statements

    package func execute(_ sql: String, _ values: [DatabaseValue]) throws -> Int {
      try runUser(sql, values).changedCount
    }

    package func query(_ sql: String, _ values: [DatabaseValue]) throws -> [[DatabaseValue]] {
      let result = try runUser(sql, values)
      return (0..<result.rowCount).map { row in
        (0..<result.columnCount).map { result.value(row, $0) }
      }
    }

    private func runUser(_ sql: String, _ values: [DatabaseValue]) throws -> PostgreSQLResult {
      if let word = PostgreSQLStatement.transactionWord(of: sql) {
        throw PersistenceError(
          .statement, "\(description): \(word) ends or splits the library's transaction: \(sql)")
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
      let statement = PostgreSQLStatement(sql, values.map(PostgreSQLStatement.Parameter.init))
      do {
        return try run(statement, "a statement")
      } catch let error as PersistenceError {
        throw PersistenceError(
          error.code, "\(error.message) The statement: \(sql)", isOutcomeKnown: error.isOutcomeKnown
        )
      }
    }
  }
#endif
