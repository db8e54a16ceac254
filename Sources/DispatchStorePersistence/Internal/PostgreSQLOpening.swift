#if PostgreSQL || SIMULATION
  import DispatchStore
  import Foundation

  /// Opens a partition: checks the server, makes missing tables, and makes this process the owner.
  final class PostgreSQLOpening {
    private let connection: any PostgreSQLConnection
    private let driver: PostgreSQLDriver
    private var place: PostgreSQLPlace { driver.place }
    /// The end of the time that the owner has to renew its lease after a commit that has waited for a standby server.
    private var graceEnd = Duration.zero

    init(_ connection: any PostgreSQLConnection, _ driver: PostgreSQLDriver) {
      (self.connection, self.driver) = (connection, driver)
    }

    func open() throws -> PersistenceOwner {
      do {
        try checkServer()
        try makeTables()
        return try becomeOwner()
      } catch let failure as PostgreSQLFailure {
        let error = failure.error("opening", in: place)
        let cannotOpen = failure.isLost && !driver.waits || error.code == .statement
        throw cannotOpen ? PersistenceError(.cannotOpen, error.message) : error
      }
    }

    private func checkServer() throws {
      let names = ["fsync", "full_page_writes", "synchronous_commit"]
      let row = try connection.run(.settings(names + ["server_encoding"]))
      if row.isTrue(0, 0) {
        throw PersistenceError(
          .cannotOpen,
          "\(place.description) can't be opened: the server is a standby, which only reads. Name the primary server."
        )
      }
      let encoding = row.text(0, names.count + 1)
      guard encoding == "UTF8" else {
        throw PersistenceError(
          .notADatabase,
          "\(place.description) is encoded in \(encoding); only UTF8 keeps every key as it is.")
      }
      for (index, name) in names.enumerated()
      where row.text(0, index + 1) == "off" && !driver.maySkipSync {
        throw PersistenceError(
          .notDurable,
          """
          \(place.description): the server's setting \(name) is off, so acknowledged commits would be lost when its \
          machine loses power. Turn it on, or set maySkipSync.
          """)
      }
    }

    // MARK: Tables

    private func makeTables() throws {
      var found = try columns()
      if found.isEmpty {
        _ = try connection.run(
          [.begin, .lockTables] + PostgreSQLTable.all.map { .makeTable($0) } + [.commit])
        found = try columns()
      }
      // Before anything else: a newer format may have other columns.
      if found["dispatchstore_partitions"]?["format"] == "integer" { try checkFormat() }
      for table in PostgreSQLTable.all { try check(table, found[table.name] ?? [:]) }
    }

    private func checkFormat() throws {
      let format = try connection.run(.format)
      guard format.integer(0, 0) > PostgreSQLTable.format else { return }
      throw PersistenceError(
        .newerVersion,
        "\(place.description) was written by a newer version of DispatchStore. Use that version, or a later one."
      )
    }

    /// The columns of the library's tables that are there, with their types.
    private func columns() throws -> [String: [String: String]] {
      let rows = try connection.run(.columns)
      var columns: [String: [String: String]] = [:]
      for row in 0..<rows.rowCount {
        let type = rows.text(row, 3) == "r" ? rows.text(row, 2) : "no table"
        columns[rows.text(row, 0), default: [:]][rows.text(row, 1)] = type
      }
      return columns
    }

    private func check(_ table: PostgreSQLTable, _ found: [String: String]) throws {
      for (column, type) in table.columns where found[column] != type {
        let difference = found[column].map { "of type \($0), not \(type)" } ?? "missing"
        throw foreign(table, "its column \"\(column)\" is \(difference)")
      }
      for column in found.keys.sorted() where !table.columns.contains(where: { $0.key == column }) {
        throw foreign(table, "it has another column \"\(column)\"")
      }
    }

    private func foreign(_ table: PostgreSQLTable, _ reason: String) -> PersistenceError {
      PersistenceError(
        .notADatabase,
        """
        \(place.description) has a table "\(table.name)" that isn't the library's: \(reason). Use another schema or \
        database, or rename the table.
        """)
    }

    // MARK: Ownership

    /// The row of the partition, as a process finds it that wants to own it.
    private struct Found {
      let holder: PostgreSQLHolder?
      let secondsLeft: Double
      /// Whether the owner has released it, is dead, or has let its lease run out.
      let isFree: Bool
    }

    private func becomeOwner() throws -> PersistenceOwner {
      _ = try connection.run(.addPartition(place.partition))
      var failedLocks = 0
      while true {
        // Without its lock, for which the owner's next transaction would wait.
        var found = try readHolder()
        var triesAgain = driver.waits
        if found.isFree {
          if let locked = try lockRow() {
            if locked.isFree { return try takeOver() }
            _ = try connection.run(.rollback)
            found = locked
          } else {
            failedLocks += 1
            // Meanwhile somebody may have become the owner.
            found = try readHolder()
            if found.isFree {
              // A locker that is told to end may never do so, and another one may have ended by itself.
              let isEnding = try endLocker()
              triesAgain = triesAgain || failedLocks < (isEnding ? 10 : 2)
            }
          }
        }
        guard triesAgain else { throw inUse(found) }
        if !driver.mayGoOn { throw CancellationError() }
        driver.client.pause(for: .seconds(min(max(found.secondsLeft, 0.01), 0.1)))
        if isPlantedInDatabase(.leaseCountedFromReply) {
          driver.client.pause(for: .seconds(max(found.secondsLeft, 0)))
          return try takeOver()
        }
      }
    }

    private func readHolder() throws -> Found {
      found(
        try connection.run(
          .readHolder(partition: place.partition, lease: driver.lease, locks: false)))
    }

    /// Begins a transaction that has the partition's row; nil if another one has it for longer than half a second.
    private func lockRow() throws -> Found? {
      do {
        let row = try connection.run([
          .begin, .limits(wait: .milliseconds(500), idle: driver.lease / 2),
          .readHolder(partition: place.partition, lease: driver.lease, locks: true),
        ])[2]
        return found(row)
      } catch  where error.sqlState == "55P03" {
        _ = try connection.run(.rollback)
        return nil
      }
    }

    /// Ends a transaction of the former owner that still has the row, to which that owner has no right any longer.
    ///
    /// - Returns: False if it has ended none: another role's, a prepared one, or several that share the row.
    private func endLocker() throws -> Bool {
      do {
        return try connection.run(.endLocker(partition: place.partition)).rowCount > 0
      } catch  where error.sqlState == "42501" {
        return false
      }
    }

    private func found(_ row: any PostgreSQLResult) -> Found {
      let holder = PostgreSQLHolder(row.text(0, 0))
      // A take-over whose reply was lost has made this opening the holder.
      let isOther = row.text(0, 0) != driver.holder
      let isAlive = isOther && holder.map { !driver.client.isDead($0) } ?? false
      // The owner can't renew its lease while its commit waits, and nobody else could commit.
      let awaitsStandby = row.isTrue(0, 3)
      let now = driver.client.now
      if awaitsStandby { graceEnd = now + driver.lease }
      return Found(
        holder: holder, secondsLeft: Double(row.text(0, 2)) ?? 0,
        isFree: !isAlive || !row.isTrue(0, 1) && now >= graceEnd)
    }

    private func takeOver() throws -> PersistenceOwner {
      let row = try connection.run([
        .takeOver(
          partition: place.partition, holder: driver.holder, lease: driver.lease), .commit,
      ])[0]
      return PersistenceOwner(epoch: row.integer(0, 0), group: row.integer(0, 1))
    }

    private func inUse(_ found: Found) -> PersistenceError {
      PersistenceError(
        .inUse,
        """
        \(place.description) is in use by \(found.holder?.description ?? "another process"), whose lease ends in \
        \(max(Int(found.secondsLeft.rounded(.up)), 0)) s unless it is renewed. Close it there first, use another \
        partition, or set waitForOwnership.
        """)
    }
  }
#endif
