#if PostgreSQL || SIMULATION
  package import DispatchStore
  import Foundation
  import Synchronization

  /// The driver for a partition of a PostgreSQL database.
  ///
  /// It isn't safe to call from two threads at once, which `Persistence` promises not to do.
  package final class PostgreSQLDriver: PersistenceDriver, @unchecked Sendable {
    let client: any PostgreSQLClient
    /// The text by which this opening is known as an owner, and no other: after a restore, another one may get its epoch.
    let holder: String
    let place: PostgreSQLPlace
    let lease: Duration
    /// How long the client waits for an answer.
    private let patience: Duration
    let maySkipSync: Bool
    /// Whether opening waits for the present owner's end.
    let waits: Bool
    private let isOpeningCancelled = Atomic(false)
    private(set) var connection: (any PostgreSQLConnection)?
    private var epoch: Int64?
    /// The transaction in progress, whose statements are sent with its end or before something is read.
    private(set) var transaction: PostgreSQLTransaction?
    /// The error that has ended the transaction before its commit, or lets the server undo it; nobody may catch it and
    /// commit.
    var failure: PersistenceError?
    /// When the transaction began, by the client's clock.
    private var began = Duration.zero
    /// When statements were sent last, by the client's clock.
    private(set) var lastExchange = Duration.zero
    /// When the lease was renewed last, by the client's clock.
    ///
    /// Read before the statements were sent, so that the lease ends no earlier at the server.
    private let renewed = Mutex(Duration.zero)
    /// The owner in the last transaction whose reply was lost.
    ///
    /// Even if it was not committed at the last look, it may be later: what was sent on the lost connection can still be
    /// waiting at the server. So each attempt to send it again begins with a look, until the group's number has moved on.
    private var doubt: PersistenceOwner?

    package init(
      _ client: any PostgreSQLClient, _ place: PostgreSQLPlace, lease: Duration,
      patience: Duration = .seconds(30), maySkipSync: Bool = false, waits: Bool
    ) {
      (self.client, self.place, self.lease, self.patience) = (client, place, lease, patience)
      holder = "\(client.holder) \(UInt32.random(in: 0...UInt32.max))"
      (self.maySkipSync, self.waits) = (maySkipSync, waits)
    }

    deinit { close() }

    package var description: String { place.description }

    package var journalBytes: Int { 0 }

    package var leaseRenewal: Duration? { lease / 3 }

    package var isLeaseOver: Bool { timeSinceRenewal >= lease }

    private var timeSinceRenewal: Duration { client.now - renewed.withLock { $0 } }

    package func cancelOpening() { isOpeningCancelled.store(true, ordering: .relaxed) }

    var mayGoOn: Bool { !isOpeningCancelled.load(ordering: .relaxed) }

    // MARK: Opening and closing

    package func open() throws -> PersistenceOwner {
      if let problem = place.problem {
        throw PersistenceError(.cannotOpen, "\(description) can't be opened: \(problem)")
      }
      var connection: (any PostgreSQLConnection)? = try connect(isFirst: true)
      var isFirst = true
      while true {
        do {
          if let connection {
            let owner = try PostgreSQLOpening(connection, self).open()
            (self.connection, epoch) = (connection, owner.epoch)
            return owner
          }
        } catch let error as PersistenceError
          where waits && (error.isTransient || !isFirst && error.code == .cannotOpen)
        {
          // The server is restarted, or another one takes its place, which may be a standby still.
        }
        isFirst = false
        if !mayGoOn { throw CancellationError() }
        client.pause(for: .milliseconds(100))
        do {
          connection = try connect()
        } catch let error as PersistenceError where error.isTransient {
          connection = nil
        }
      }
    }

    package func close() {
      rollback()
      if let connection, let epoch {
        // If it fails, others wait for the end of the lease.
        _ = try? connection.run(.release(partition: place.partition, epoch: epoch, holder))
      }
      (connection, epoch) = (nil, nil)
    }

    /// The connection, made anew if it was lost.
    private func connected() throws -> any PostgreSQLConnection {
      guard epoch != nil else { throw PersistenceError(.closed, "\(description) isn't open.") }
      if let connection { return connection }
      let connection = try connect()
      self.connection = connection
      return connection
    }

    private func connect(isFirst: Bool = false) throws -> any PostgreSQLConnection {
      do {
        return try client.connect()
      } catch {
        if !isFirst { throw error.error("connecting", in: place) }
        throw PersistenceError(.cannotOpen, "\(description) can't be opened: \(error.message)")
      }
    }

    /// Notes that an owner's last transaction may have been committed, as after a lost connection.
    func noteLostReply(to owner: PersistenceOwner) { (doubt, connection) = (owner, nil) }

    // MARK: Transactions

    package func begin(as owner: PersistenceOwner) throws -> Bool {
      let connection = try connected()
      (began, failure) = (client.now, nil)
      let fence = self.fence(owner)
      guard doubt == owner else {
        transaction = PostgreSQLTransaction(owner, [.begin, fence])
        return true
      }
      let (saved, isThis) = try savedOwner(to: owner, on: connection)
      switch saved {
      case owner where isThis:
        transaction = PostgreSQLTransaction(owner, [fence], hasBegun: true)
        return true
      case PersistenceOwner(epoch: owner.epoch, group: owner.group + 1) where isThis:
        if isPlantedInDatabase(.groupSentAgain) {
          transaction = PostgreSQLTransaction(saved, [self.fence(saved)], hasBegun: true)
          return true
        }
        try acknowledge(on: connection)
        return false
      default:
        rollback()
        // The group may have been saved before another process became the owner.
        throw notOwner(owner, saved, isOutcomeKnown: saved.group <= owner.group)
      }
    }

    /// Ends a look that has found the group saved.
    ///
    /// By a commit: if the server's commits wait for a standby, this one does, too, since the look has locked a row. Once
    /// it returns, the standby has the group as well.
    private func acknowledge(on connection: any PostgreSQLConnection) throws {
      _ = try exchange("looking up the last transaction", on: connection) { try $0.run(.commit) }
      transaction = nil
    }

    private func fence(_ owner: PersistenceOwner) -> PostgreSQLStatement {
      .fence(partition: place.partition, owner, holder, lease: lease)
    }

    /// Begins a transaction that has the partition's row, and reads the saved owner, and whether it is this one.
    ///
    /// It waits until the server has ended the former connection's transaction, if that still runs: a plain SELECT would
    /// not see its commit.
    private func savedOwner(
      to owner: PersistenceOwner, on connection: any PostgreSQLConnection
    ) throws -> (owner: PersistenceOwner, isThis: Bool) {
      transaction = PostgreSQLTransaction(owner, [])
      do {
        let row = try exchange("looking up the last transaction", on: connection) {
          try $0.run([
            // A look that waits for longer than the client could not end the transaction that it waits for.
            .begin, .limits(wait: min(.seconds(2), patience / 2), idle: lease / 2),
            .readOwner(
              partition: place.partition, locks: !isPlantedInDatabase(.numberReadUnlocked)),
          ])[2]
        }
        guard row.rowCount == 1 else { throw lostOwner() }
        let saved = PersistenceOwner(epoch: row.integer(0, 0), group: row.integer(0, 1))
        return (saved, row.text(0, 2) == holder)
      } catch let error as PersistenceError {
        rollback()
        // A server that is silent would be awaited once more.
        if let connection = self.connection { try? endFormerTransaction(on: connection) }
        if error.isTransient { throw error }
        // The transaction that it looks for may have been saved.
        throw PersistenceError(error.code, error.message, cause: error.cause, isOutcomeKnown: false)
      }
    }

    /// Ends a transaction of a former connection that has the row without making progress: the server has not noticed
    /// that the connection is lost.
    private func endFormerTransaction(on connection: any PostgreSQLConnection) throws {
      let row = try connection.run(
        .readHolder(partition: place.partition, lease: lease, locks: false))
      guard row.rowCount == 1, row.text(0, 0) == holder, !row.isTrue(0, 1) else { return }
      _ = try connection.run(.endLocker(partition: place.partition))
    }

    package func commit() throws {
      // The lease that the comparison has renewed is partly over.
      let now = client.now
      let isPartlyOver = now - began > lease / 3
      let renewal = PostgreSQLStatement.renew(partition: place.partition, lease: lease)
      _ = try send(
        "committing a transaction", (isPartlyOver ? [renewal] : []) + [.commit], commits: true)
      transaction = nil
      noteRenewal(at: isPartlyOver ? now : began)
    }

    package func rollback() {
      failure = nil
      guard let transaction else { return }
      self.transaction = nil
      guard let connection, transaction.hasBegun || connection.isInTransaction else { return }
      // What the comparison has renewed is undone, and the transaction may be tried again for longer than the lease.
      keepLease(of: transaction.owner.epoch, after: [.rollback], on: connection)
    }

    package func keepLease() {
      guard transaction == nil, timeSinceRenewal > lease / 3 else { return }
      guard let connection, let epoch else { return }
      keepLease(of: epoch, on: connection)
    }

    private func keepLease(
      of epoch: Int64, after first: [PostgreSQLStatement] = [],
      on connection: any PostgreSQLConnection
    ) {
      let now = client.now
      let renewal = PostgreSQLStatement.keepLease(
        partition: place.partition, epoch: epoch, holder, lease: lease)
      if let results = try? connection.run(first + [renewal]) {
        // None if somebody has the row: the next call tries again.
        if results[first.count].rowCount == 1 { noteRenewal(at: now) }
      } else {
        self.connection = nil
      }
      lastExchange = client.now
    }

    private func noteRenewal(at time: Duration) { renewed.withLock { $0 = time } }

    /// Sends what is pending, and then a statement whose result is needed now.
    func run(_ statement: PostgreSQLStatement, _ action: String) throws -> any PostgreSQLResult {
      let results = try send(action, [statement])
      return results[results.count - 1]
    }

    /// Sends what is pending, and then further statements.
    func send(
      _ action: String, _ further: [PostgreSQLStatement] = [], commits: Bool = false
    ) throws -> [any PostgreSQLResult] {
      if let failure { throw failure }
      let connection = try connected()
      guard let transaction else { throw noTransaction() }
      let pending = transaction.takeStatements()
      // Pending statements belong to another action, unless this one is to send it.
      let count = further.isEmpty || commits ? 0 : pending.count
      return try exchange(action, after: count, on: connection, commits: commits) {
        try $0.run(pending + further)
      }
    }

    /// Runs statements, and turns a failure into an error.
    ///
    /// - Parameters:
    ///   - action: The purpose of the statements, for the error.
    ///   - count: The number of statements before those that do it.
    ///   - commits: Whether they end the transaction: if the reply is lost, nobody knows whether it was saved.
    func exchange<Value>(
      _ action: String, after count: Int = 0, on connection: any PostgreSQLConnection,
      commits: Bool = false,
      _ body: (any PostgreSQLConnection) throws -> Value
    ) throws -> Value {
      do {
        defer { lastExchange = client.now }
        return try body(connection)
      } catch let failure as PostgreSQLFailure {
        let action = failure.index < count ? "a transaction" : action
        if failure.endsSession {
          // Also if nothing was committed: the server may go on with the transaction, which has the row until then.
          if let transaction { noteLostReply(to: transaction.owner) }
          (transaction, self.connection) = (nil, nil)
          throw noted(failure.error(action, in: place, isOutcomeKnown: !commits))
        }
        throw noted(try explain(failure, transaction, action))
      }
    }

    private func noted(_ error: PersistenceError) -> PersistenceError {
      failure = error
      return error
    }

    /// The error of a statement, of the comparison at the transaction's begin, or of a missing row of a store.
    private func explain(
      _ failure: PostgreSQLFailure, _ transaction: PostgreSQLTransaction?,
      _ action: String
    ) throws -> PersistenceError {
      guard let transaction, failure.sqlState == "22012", let connection else {
        return failure.error(action, in: place)
      }
      if transaction.versionsIndex == failure.index {
        rollback()
        return PersistenceError(.corrupt, "\(description) has lost the row of a store.")
      }
      guard transaction.fenceIndex == failure.index else {
        return failure.error(action, in: place)
      }
      rollback()
      let row = try exchange("reading the owner", on: connection) {
        try $0.run(.readOwner(partition: place.partition, locks: false))
      }
      guard row.rowCount == 1 else { return lostOwner() }
      return notOwner(
        transaction.owner, PersistenceOwner(epoch: row.integer(0, 0), group: row.integer(0, 1)))
    }

    func noTransaction() -> PersistenceError {
      PersistenceError(.statement, "\(description): there is no transaction.")
    }

    private func lostOwner() -> PersistenceError {
      PersistenceError(.corrupt, "\(description) has lost the row of its owner.")
    }

    private func notOwner(
      _ owner: PersistenceOwner, _ saved: PersistenceOwner, isOutcomeKnown: Bool = true
    ) -> PersistenceError {
      let numbers = """
        its epoch is \(saved.epoch), and its last group \(saved.group); this process has epoch \(owner.epoch), and \
        group \(owner.group).
        """
      if saved.epoch > owner.epoch, saved.group >= owner.group {
        return PersistenceError(
          .notOwner, "\(description): another process has become its owner: \(numbers)",
          isOutcomeKnown: isOutcomeKnown)
      }
      return PersistenceError(
        .journalWentBack,
        """
        \(description) has gone back, as after a restored backup, or after a standby took over that was behind: \
        \(numbers) Commits in between are lost.
        """, isOutcomeKnown: isOutcomeKnown)
    }
  }
#endif
