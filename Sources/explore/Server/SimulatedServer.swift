#if SIMULATION
  import DispatchStore
  import DispatchStorePersistence
  import DispatchStoreTesting
  import Foundation

  /// A PostgreSQL server with one partition in memory, in a simulated world.
  ///
  /// It has what the driver relies on: transactions that see what others have committed, the lock of the partition's
  /// row, time limits for locks and for idle transactions, and leases by its clock. Each connection has a backend, which
  /// runs on a thread of its own, also after its client has gone.
  final class SimulatedServer: @unchecked Sendable {
    // because one thread of a world runs at a time, and no condition of a wait changes it
    let simulation: SimulationControl
    private(set) var saved = Content()
    /// Everything that was committed, for restores.
    private var history: [Content] = []
    /// The backend whose transaction has the partition's row.
    var rowHolder: SimulatedBackend?
    private var backends: [Int64: SimulatedBackend] = [:]
    private var isUp = true
    /// The processes that have crashed, if others can find that out.
    var knownDead: Set<Int32> = []
    private(set) var highestEpoch: Int64 = 0
    private(set) var hasGoneBack = false
    /// The commits that a restore has lost.
    private(set) var lost: Set<Int> = []
    /// The server takes long for one statement in so many; zero for none.
    var stalls = 0
    let longestStall: Duration
    /// The promises that were broken.
    var faults: [String] = []

    /// The tables.
    struct Content {
      var owner = PersistenceOwner(epoch: 0, group: 0)
      var holder = ""
      var leaseEnd: Duration?
      var numbers: [String: Int64] = [:]
      var stores: [Int64: SavedStore] = [:]
      var rows: [Int64: [SavedRow: Data]] = [:]
      /// The user's table.
      var ledger: [Int] = []
      /// The epochs of the groups, in order.
      var groups: [Int64] = []
    }

    init(_ simulation: SimulationControl, longestStall: Duration) {
      (self.simulation, self.longestStall) = (simulation, longestStall)
    }

    var now: Duration { simulation.clock.now.offset }

    /// Connects a client; nil while the server is down.
    func connect() -> SimulatedBackend? {
      guard isUp else { return nil }
      let backend = SimulatedBackend(self, pid: Int64(backends.count + 1))
      backends[backend.pid] = backend
      return backend
    }

    func commit(_ content: Content) {
      history.append(saved)
      if content.groups != content.groups.sorted() { faults.append("epochs: \(content.groups)") }
      saved = content
      highestEpoch = max(highestEpoch, content.owner.epoch)
    }

    /// Ends all backends, with what they have not committed, and lets nobody connect for a time.
    func crash(downFor time: Duration) {
      isUp = false
      for backend in backends.values.sorted(by: { $0.pid < $1.pid }) { backend.end() }
      currentSimulatedThread!.world.call(after: time) { self.isUp = true }
    }

    /// Comes back with what was committed a few transactions ago, as from a backup.
    func goBack(by count: Int, downFor time: Duration) {
      crash(downFor: time)
      guard let state = history.dropLast(count).last, !history.isEmpty else { return }
      hasGoneBack = true
      lost.formUnion(Set(saved.ledger).subtracting(state.ledger))
      saved = state
    }
  }

  /// The process of the server's that serves one connection.
  final class SimulatedBackend: @unchecked Sendable {
    // because one thread of a world runs at a time
    let pid: Int64
    private let server: SimulatedServer
    private(set) var isEnded = false
    /// Whether its client has gone, which it notices once it has run what was sent.
    private var isLeft = false
    private(set) var isInTransaction = false
    private var hasFailed = false
    /// The tables as its transaction sees them, once that has the partition's row.
    private var content: SimulatedServer.Content?
    /// The tables as they were at the savepoint.
    private var savepoint: SimulatedServer.Content?
    private var lockLimit: Duration?
    private var idleLimit: Duration?
    private var isBusy = false
    private var exchangeCount = 0

    init(_ server: SimulatedServer, pid: Int64) { (self.server, self.pid) = (server, pid) }

    /// Ends it, at once or when it has run what was sent.
    func end(now isNow: Bool = true) {
      if isBusy, !isNow {
        isLeft = true
        return
      }
      endTransaction()
      isEnded = true
    }

    private func endTransaction() {
      savepoint = nil
      if server.rowHolder === self { server.rowHolder = nil }
      (isInTransaction, hasFailed, content, lockLimit, idleLimit) = (false, false, nil, nil, nil)
    }

    /// Undoes the transaction, which lasts until the client ends it, without its row and its limits.
    private func fail() {
      if savepoint != nil, !isEnded {
        hasFailed = true
        return
      }
      let lasts = isInTransaction
      endTransaction()
      (isInTransaction, hasFailed) = (lasts, lasts)
    }

    // MARK: Running

    /// Notes that statements are on their way, which it runs although its client may have gone.
    func receive() { isBusy = true }

    func run(_ statements: [PostgreSQLStatement]) throws(PostgreSQLFailure) -> [SimulatedRows] {
      defer { wasRun() }
      var results: [SimulatedRows] = []
      for (index, statement) in statements.enumerated() {
        yieldBeforeDatabase("\(pid): \(statement.name)")
        do throws(PostgreSQLFailure) {
          stall()
          try checkAlive()
          results.append(try run(statement))
          if !isInTransaction { commit() }
        } catch {
          fail()
          var failure = error
          failure.index = index
          throw failure
        }
      }
      return results
    }

    private func wasRun() {
      isBusy = false
      exchangeCount += 1
      if isLeft { end() }
      guard isInTransaction, let idleLimit else { return }
      let count = exchangeCount
      currentSimulatedThread!.world.call(after: idleLimit) {
        if !self.isBusy, self.exchangeCount == count { self.end() }
      }
    }

    /// Takes a while at times, as behind a slow disk.
    private func stall() {
      guard server.stalls > 0, server.simulation.draw(below: server.stalls) == 0 else { return }
      let time = server.longestStall * server.simulation.draw(below: 100) / 100
      wait(for: "the server's disk", atMost: time) { self.isEnded }
    }

    private func checkAlive() throws(PostgreSQLFailure) {
      if isEnded { throw .lost("57P01") }
    }

    private func lockRow() throws(PostgreSQLFailure) {
      if content != nil { return }
      let isFree = wait(for: "the partition's row", atMost: lockLimit) {
        self.isEnded || self.server.rowHolder == nil
      }
      try checkAlive()
      guard isFree else { throw .statement("55P03") }
      (server.rowHolder, content) = (self, server.saved)
    }

    private func commit() {
      if let content { server.commit(content) }
      endTransaction()
    }

    /// The tables that a statement sees.
    private var seen: SimulatedServer.Content { content ?? server.saved }

    // MARK: Statements

    private func run(_ statement: PostgreSQLStatement) throws(PostgreSQLFailure) -> SimulatedRows {
      switch statement {
      case .rollback: endTransaction()
      case .commit where hasFailed: throw .statement("25P02")
      case .rollbackToSavepoint:
        guard let savepoint else { throw .statement("3B001") }
        (content, hasFailed) = (savepoint, false)
      case _ where hasFailed: throw .statement("25P02")
      case .savepoint: savepoint = content
      case .releaseSavepoint: savepoint = nil
      case .begin: isInTransaction = true
      case .commit: commit()
      case .limits(let wait, let idle): (lockLimit, idleLimit) = (wait, idle)
      case .settings(let names):
        return SimulatedRows(["f"] + names.map { $0 == "server_encoding" ? "UTF8" : "on" })
      case .lockTables, .makeTable, .addPartition, .avoidSorting: break
      case .columns:
        return SimulatedRows(
          PostgreSQLTable.all.flatMap { table in
            table.columns.map { [table.name, $0.key, $0.value, "r"] }
          })
      case .format: return SimulatedRows(["1"])
      case .endLocker:
        guard let holder = server.rowHolder else { break }
        holder.end()
        return SimulatedRows(["t"])
      case .readHolder(_, _, let locks): return try readHolder(locks)
      case .takeOver(_, let holder, let lease): return try takeOver(holder, lease)
      case .fence(_, let owner, let holder, let lease): return try fence(owner, holder, lease)
      case .renew(_, let lease): content!.leaseEnd = server.now + lease
      case .keepLease(_, let epoch, let holder, let lease):
        return keepLease(epoch, holder, lease)
      case .readOwner(_, let locks):
        if locks { try lockRow() }
        return SimulatedRows(["\(seen.owner.epoch)", "\(seen.owner.group)", seen.holder])
      case .release(_, let epoch, let holder): try release(epoch, holder)
      default: return try runOfStores(statement)
      }
      return SimulatedRows()
    }

    private func readHolder(_ locks: Bool) throws(PostgreSQLFailure) -> SimulatedRows {
      if locks { try lockRow() }
      let left = seen.leaseEnd.map { $0 - server.now } ?? .zero
      return SimulatedRows([
        seen.holder, left > .zero ? "t" : "f", "\(left / .seconds(1))", "f",
      ])
    }

    private func takeOver(
      _ holder: String, _ lease: Duration
    ) throws(PostgreSQLFailure) -> SimulatedRows {
      try lockRow()
      let former = PostgreSQLHolder(seen.holder)
      if let former, seen.holder != holder, let end = seen.leaseEnd, end > server.now,
        !server.knownDead.contains(former.process)
      {
        server.faults.append("\(holder) has replaced \(seen.holder), \(end - server.now) too early")
      }
      content!.owner.epoch += 1
      (content!.holder, content!.leaseEnd) = (holder, server.now + lease)
      return SimulatedRows(["\(seen.owner.epoch)", "\(seen.owner.group)"])
    }

    private func fence(
      _ owner: PersistenceOwner, _ holder: String, _ lease: Duration
    ) throws(PostgreSQLFailure) -> SimulatedRows {
      func isOwner() -> Bool {
        seen.owner == owner && seen.holder == holder
          || isPlantedInDatabase(.epochNotCompared) && seen.owner.group == owner.group
      }
      // The statement waits only for a row that fits as it was committed last, and compares it again then.
      if isOwner() { try lockRow() }
      guard isOwner() else { throw .statement("22012") }
      if seen.holder != holder {
        server.faults.append("\(holder) writes group \(owner.group + 1) of \(seen.holder)")
      }
      content!.owner.group += 1
      content!.groups.append(owner.epoch)
      content!.leaseEnd = server.now + lease
      idleLimit = lease / 2
      return SimulatedRows()
    }

    private func keepLease(_ epoch: Int64, _ holder: String, _ lease: Duration) -> SimulatedRows {
      let isOwner = seen.owner.epoch == epoch && seen.holder == holder
      guard isOwner, server.rowHolder == nil else { return SimulatedRows() }
      (server.rowHolder, content) = (self, server.saved)
      content!.leaseEnd = server.now + lease
      return SimulatedRows(["off"])
    }

    private func release(_ epoch: Int64, _ holder: String) throws(PostgreSQLFailure) {
      func isOwner() -> Bool { seen.owner.epoch == epoch && seen.holder == holder }
      if isOwner() { try lockRow() }
      guard isOwner() else { return }
      (content!.holder, content!.leaseEnd) = ("", nil)
    }

    private func runOfStores(
      _ statement: PostgreSQLStatement
    ) throws(PostgreSQLFailure) -> SimulatedRows {
      switch statement {
      case .findStore(let identifier, _):
        guard let number = seen.numbers[identifier], let store = seen.stores[number] else { break }
        return SimulatedRows([
          "\(number)", "\(store.version)", store.typeName, "\(store.typeVersion)",
        ])
      case .saveStore(let store, let identifier, _):
        let number = seen.numbers[identifier] ?? Int64(seen.numbers.count + 1)
        (content!.numbers[identifier], content!.stores[number]) = (number, store)
        return SimulatedRows(["\(number)"])
      case .saveVersions(let versions):
        for (number, version) in versions {
          guard content!.stores[number] != nil else { throw .statement("22012") }
          content!.stores[number]!.version = version
        }
      case .saveRows(let rows):
        for (store, row, value) in rows { content!.rows[store, default: [:]][row] = value }
      case .deleteRows(let rows):
        for (store, row) in rows { content!.rows[store]?[row] = nil }
      case .lastPart(let store):
        return SimulatedRows(["\(seen.rows[store]?.keys.map(\.part).max() ?? 0)"])
      case .rows(let store, let part, let last, let limit):
        let rows = seen.rows[store, default: [:]]
          .filter { $0.key.part == part && (last == nil || $0.key.key > last!) }
          .sorted { $0.key.key < $1.key.key }
        return SimulatedRows(rows.prefix(limit).map { [Data($0.key.key.utf8), $0.value] })
      case .user(_, let values):
        for case .integer(let number) in values { content!.ledger.append(Int(number)) }
        return SimulatedRows(changed: 1)
      default: throw .statement("0A000")
      }
      return SimulatedRows()
    }
  }

  /// The result of a statement.
  struct SimulatedRows: PostgreSQLResult {
    private let rows: [[Data]]
    let changedCount: Int

    init(_ rows: [[Data]]) { (self.rows, changedCount) = (rows, 0) }
    init(_ rows: [[String]]) { self.init(rows.map { $0.map { Data($0.utf8) } }) }
    init(_ row: [String]) { self.init([row]) }
    init(changed count: Int = 0) { (rows, changedCount) = ([], count) }

    var rowCount: Int { rows.count }
    func text(_ row: Int, _ column: Int) -> String {
      String(decoding: rows[row][column], as: UTF8.self)
    }
    func data(_ row: Int, _ column: Int) -> Data? { rows[row][column] }
    func values(_ row: Int) -> [DatabaseValue] { rows[row].map(DatabaseValue.blob) }
  }

  extension PostgreSQLFailure {
    static func lost(_ state: String) -> PostgreSQLFailure {
      PostgreSQLFailure(sqlState: state, message: "lost", isLost: true)
    }

    static func statement(_ state: String) -> PostgreSQLFailure {
      PostgreSQLFailure(sqlState: state, message: "refused", isLost: false)
    }
  }

  extension PostgreSQLStatement {
    /// The statement's name in traces.
    fileprivate var name: String { String("\(self)".prefix { $0 != "(" }) }
  }

  /// Blocks the thread until a condition holds; returns false if a time has passed before.
  @discardableResult
  func wait(
    for reason: String, atMost time: Duration?, until condition: @escaping () -> Bool = { false }
  ) -> Bool {
    let isOver = Shared(false)
    if let time { currentSimulatedThread!.world.call(after: time) { isOver.with { $0 = true } } }
    currentSimulatedThread!.wait(for: reason) { condition() || isOver.now }
    return condition()
  }
#endif
