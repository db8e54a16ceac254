import Dispatch
import Synchronization

/// Saves the state of stores in a database, before anyone is told that it has changed.
///
///     let persistence = try await Persistence(.sqlite(path: "shop.db"))
///     let dispatcher = Dispatcher(name: "shop", persistence: persistence)
///     let orders = try await dispatcher.register(
///       store: Store(identifier: "orders", model: Orders()) { … }, persisted: .elements(\.all))
///     let result = await dispatcher.send(Order.place(order))  // The order is in the database now.
///
/// The state is in memory, and each commit of a persistent store is saved in order, many in one transaction. A dispatch
/// to persistent stores ends once all commits that came before its end are saved. Its lane is free before that.
///
/// One process has the database open at a time. Keep the persistence as long as its stores; `close()` it after the
/// dispatcher has drained.
public final class Persistence: Sendable {
  let state: Locked<State>
  let coder: any PersistenceCoder
  /// The idempotency keys, which a dispatcher or a found row needs first.
  private let keys = AtomicLazyReference<IdempotencyTable>()
  /// The actions that durable effects follow, and that are scheduled, by name.
  let actions: ActionCoder
  /// The work of durable effects that an earlier process has left.
  let foundWork = Locked(FoundWork())
  /// The scheduled actions that an earlier process has left.
  let foundSchedules = Locked(FoundSchedules())
  /// The statuses that observers are yet to be told.
  let statusNotices = Mailbox<StatusNotice>()
  let timers: TimerQueue
  let clock: DispatcherClock
  let world: (any SimulatedWorld)?
  /// The queue of writing jobs: its own, because writing blocks.
  let queue = DispatchQueue(label: "DispatchStore.persistence")
  /// The queue of warnings: their handler may wait for a commit, which the writer's thread is to save.
  let warningQueue = DispatchQueue(label: "DispatchStore.warnings")
  /// The database, and the group that is being written: only for the thread that has the role of the writer.
  nonisolated(unsafe) let writer: Writer

  struct WeakRecord {
    weak let record: PersistedRecord?
  }

  struct State {
    var commit: GroupCommit
    /// The stores with commits that are not in a group yet.
    var dirty: [PersistedRecord] = []
    /// The rows besides those of stores that are not in a group yet.
    var work = WorkRows()
    /// The stores that are persisted, by identifier: weakly, since they keep the persistence.
    var records: [String: WeakRecord] = [:]
    /// The number of them at which those of released stores are removed.
    var recordLimit = 8
    /// The stores that were replaced, and have lost a commit outside of any dispatch; by the order of these.
    var losses: [Int: WeakRecord] = [:]
    var lossCount = 0
    /// The dispatchers that it was attached to, by name: weakly, since they keep the persistence.
    var dispatchers: [String: DispatcherReference] = [:]
    /// The calls that wait for the database's answer whether this process is its owner still.
    var ownerQuestions: [@Sendable (Bool) -> Void] = []
    var status: PersistenceStatus
    var statusObservers: [Int: AsyncStream<PersistenceStatus>.Continuation] = [:]
    var lastObserver = 0
    /// The calls of observers of saved changes: weakly, since their stores keep them.
    var deliveries: [WeakDeliveries] = []
    /// The number of them at which those of released observers are removed.
    var deliveryLimit = 8

    struct WeakDeliveries {
      weak let deliveries: SavedDeliveries?
    }

    /// Adds a record.
    ///
    /// - Returns: The others that it has looked at, to be released outside of locks: they keep the persistence.
    mutating func add(_ new: PersistedRecord) -> [String: PersistedRecord] {
      var present: [String: PersistedRecord] = [:]
      // Seldom, so that a registration does not cost time for each of the others.
      if records.count >= recordLimit {
        present = records.compactMapValues(\.record)
        records = present.mapValues { WeakRecord(record: $0) }
        recordLimit = max(8, 2 * present.count)
      }
      records[new.identifier] = WeakRecord(record: new)
      return present
    }

    /// Notes that a store that was replaced has lost a commit outside of any dispatch.
    mutating func noteLoss(of record: PersistedRecord) {
      if record.hasNotedLoss { return }
      record.hasNotedLoss = true
      lossCount += 1
      losses[lossCount] = WeakRecord(record: record)
    }

    /// Adds the calls of an observer.
    ///
    /// - Returns: The others that it has looked at, to be released outside of locks: they keep closures of the user's.
    mutating func add(_ new: SavedDeliveries) -> [SavedDeliveries] {
      var present: [SavedDeliveries] = []
      // Seldom, so that an observer does not cost time for each of the others.
      if deliveries.count >= deliveryLimit {
        present = presentDeliveries
        deliveries = present.map(WeakDeliveries.init)
        deliveryLimit = max(8, 2 * present.count)
      }
      deliveries.append(WeakDeliveries(deliveries: new))
      return present
    }

    var presentDeliveries: [SavedDeliveries] { deliveries.compactMap(\.deliveries) }

    /// Keeps rows for the next group; after a failure there is none.
    ///
    /// Returns the values that they replace, to be released outside of locks: a deinit may be the user's code.
    mutating func keep(_ rows: [CompanionRow]) -> [any CompanionValue] {
      commit.failure == nil ? work.add(rows) : []
    }
  }

  /// Opens a database, and makes this process its owner.
  ///
  /// - Parameters:
  ///   - database: The database: `.sqlite(path:)` or `.postgreSQL(url:)` of `DispatchStorePersistence`.
  ///   - coder: Encodes models and elements for their rows.
  ///   - actions: The types of actions that durable effects follow, and of those that are scheduled by name.
  ///   - limits: The bounds of what waits to be saved.
  /// - Throws: A `PersistenceError`, with the codes `cannotOpen`, `notADatabase`, `inUse`, `newerVersion`,
  ///   `notDurable` and others. Nothing is changed then. `CancellationError` if the task was cancelled while it waited
  ///   for another owner's end.
  public convenience init(
    _ database: PersistenceDatabase, coder: any PersistenceCoder = JSONPersistenceCoder(),
    actions: ActionCoder = ActionCoder(), limits: PersistenceLimits = .suspending()
  ) async throws {
    try await self.init(
      database, coder: coder, actions: actions, limits: limits, inWorldOf: nil)
  }

  /// Opens a database in the simulated world of a dispatcher, if it has one, and with its clock.
  package init(
    _ database: PersistenceDatabase, coder: any PersistenceCoder = JSONPersistenceCoder(),
    actions: ActionCoder = ActionCoder(), limits: PersistenceLimits = .suspending(),
    inWorldOf dispatcher: Dispatcher?
  ) async throws {
    let driver = database.makeDriver()
    let world = dispatcher?.pool.world
    // Opening blocks, which a thread of the cooperative pool must not.
    let owner = try await withTaskCancellationHandler { [queue] in
      try await Self.blocking(on: queue, in: world) { try driver.open() }
    } onCancel: {
      driver.cancelOpening()
    }
    clock = dispatcher?.clock ?? DispatcherClock(nil)
    timers = TimerQueue(clock, in: world)
    (self.coder, self.actions, self.world) = (coder, actions, world)
    writer = Writer(driver, owner)
    state = Locked(
      State(
        commit: GroupCommit(limits),
        status: PersistenceStatus(database: driver.description, owner: owner)))
    // Before the rows: with many keys, decoding them takes longer than a short lease.
    renewLease(since: nil)
    try restore(try await perform { try FoundRow.all($0) })
  }

  deinit {
    let observers = state.withLock { $0.statusObservers }
    for (_, observer) in observers.sorted(by: { $0.key < $1.key }) { observer.finish() }
    writer.driver.close()
  }

  /// Runs code that may block its thread on the writers' queue.
  static func blocking<Value: Sendable>(
    on queue: DispatchQueue, in world: (any SimulatedWorld)?,
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let end = Eventual<Result<Value, any Error>>()
    let step: @Sendable () -> Void = { end.set(Result(catching: body)) }
    if let world { world.run(.substitute, step) } else { queue.async(execute: step) }
    return try await end.value.get()
  }

  /// The idempotency keys of its dispatchers.
  var keyTable: IdempotencyTable {
    keys.load() ?? keys.storeIfNil(IdempotencyTable(clock, savedBy: companionKeeper))
  }

  // MARK: Waiting

  /// Waits until everything is saved that was committed before.
  ///
  /// Call it before you send out what you have read outside of a dispatch: a crash could undo it otherwise. For an
  /// element, `Store.savedElement` waits less.
  ///
  /// - Parameter limit: The longest time to wait for a database that is locked, full or away; nil to wait until it is
  ///   back.
  /// - Throws: A `PersistenceError` if saving has failed, a `DispatchError` with the code `timedOut` after the limit, and
  ///   `CancellationError` if the task is cancelled. A `PersistenceError` with the code `alreadyRegistered` if a `Store` was
  ///   changed by `updateModel` or `inject` after its rows have passed to another object, or were deleted: each call throws, once all
  ///   else is saved, until you release that store, or register it again.
  public func flush(timeout limit: Duration? = nil) async throws {
    let loss = presentLoss()
    try await SavingWait(for: self).run(within: SavingWait.Limit(limit, clock))
    if let loss { throw loss }
  }

  /// The error for a store that was replaced, and still shows a commit that is saved nowhere; forgets the others.
  func presentLoss() -> PersistenceError? {
    // The records are looked at outside of the lock, because they are released here if nobody else has them.
    let losses = state.withLock(\.losses)
    let present = losses.compactMapValues(\.record).filter { $0.value.isKeeper }
    let past = losses.keys.filter { present[$0] == nil }
    if !past.isEmpty {
      state.withLock { state in
        for number in past { state.losses[number] = nil }
      }
    }
    return present.min { $0.key < $1.key }.map { .lostCommit(of: $0.value.identifier) }
  }

  /// Calls a closure once everything is saved that was committed before, or saving has failed.
  func afterSaving(_ body: @escaping @Sendable (PersistenceError?) -> Void) {
    let (waits, error) = state.withLock { $0.commit.wait(body) }
    if waits { requestWriter() } else { body(error) }
  }

  /// Saves what is committed, closes the database, so that another process can open it, and waits until observers have
  /// been called with what was saved (`Store.observe(_:when:_:)`), and handlers with the warnings about saving.
  ///
  /// Drain the dispatcher first, and stop what calls `updateModel`. Persistent stores run no action afterwards; they can
  /// still be read.
  ///
  /// - Parameter limit: The longest time to wait for a database that is locked, full or away, and for observers and
  ///   handlers; nil to wait until everything is saved. After it, commits that are not saved are lost, and their
  ///   dispatches end with `persistenceFailed`. An attempt under way is awaited. With PostgreSQL, a server that is silent
  ///   may take twice the `patience` of its settings, and the time to connect, which is half the `lease` by default.
  /// - Throws: A `PersistenceError` if saving has failed. Its code is `closed` if commits are not saved, because the time
  ///   was over or because they came after the call. The database is closed nevertheless.
  public func close(timeout limit: Duration? = nil) async throws {
    let deadline = limit.map { clock.nanoseconds.addingClamped($0.wholeNanoseconds) }
    let end = Eventual<PersistenceError?>()
    // In the role of the writer, so that nobody writes meanwhile; after a failure nobody does.
    let errand = DatabaseErrand(end: { error in
      let (lag, reason) = self.fail { error ?? .closed($0) }
      end.set(lag > 0 ? reason : nil)
    })
    let refusal = state.withLock { state in
      // Some rows are saved with the next commit of a store. None may come any more.
      if !state.work.isEmpty { state.commit.note() }
      return state.commit.add(errand)
    }
    if let refusal { errand.ended(refusal) } else { requestWriter() }
    // After the errand: a timer that came first would find nothing to end.
    if let limit, let deadline, !end.isSet {
      let timer = timers.add(at: deadline) { self.giveUp(after: limit) }
      end.whenSet { [timers] _ in timers.remove(timer) }
    }
    let failure = await end.value
    try await Self.blocking(on: queue, in: world) { self.writer.driver.close() }
    await deliver(until: deadline)
    if let failure { throw failure }
  }

  /// Ends saving, since the time to close has passed.
  private func giveUp(after limit: Duration) {
    let status = status
    let unsaved = PersistenceError.commits(UInt64(status.lag))
    let reason = status.lastError.map { ": \($0.message)" } ?? "."
    giveUp(
      PersistenceError(
        .closed,
        "The persistence was closed after \(limit), with \(unsaved) not saved\(reason)",
        cause: status.lastError, isOutcomeKnown: false))
  }

  /// Waits until observers have been called with what was saved, and warnings reported, at most until a time.
  private func deliver(until deadline: Int64?) async {
    let end = Eventual<Void>()
    let all = state.withLock(\.presentDeliveries)
    let count = Locked(all.count + 1)
    let delivered: @Sendable () -> Void = {
      let isLast = count.withLock { count in
        count -= 1
        return count == 0
      }
      if isLast { end.set(()) }
    }
    for deliveries in all { deliveries.whenDelivered(delivered) }
    reportLater(delivered)
    if let deadline {
      let timer = timers.add(at: deadline) { end.set(()) }
      end.whenSet { [timers] in timers.remove(timer) }
    }
    await end.value
  }

  /// Removes the rows of a store that is not registered.
  ///
  /// Saving waits meanwhile.
  ///
  /// - Throws: A `PersistenceError`; with the code `alreadyRegistered` if the store is registered.
  public func delete(_ storeIdentifier: String) async throws {
    try await perform(
      { driver in
        guard let saved = try driver.store(storeIdentifier.inFormC) else { return }
        try driver.delete(store: saved.number)
      }, claiming: storeIdentifier)
  }

  /// Runs work with the database in a transaction of its own, after everything that was committed before.
  ///
  /// - Parameters:
  ///   - identifier: Claimed for the deletion of its store, if it is not nil.
  ///   - failed: Called if the work has failed, before anything else is written; not if it was refused.
  func perform<Value: Sendable>(
    _ body: @escaping @Sendable (any PersistenceDriver) throws -> Value,
    claiming identifier: String? = nil, failed: @escaping @Sendable () -> Void = {}
  ) async throws -> Value {
    let (value, end) = (Locked<Value?>(nil), Eventual<PersistenceError?>())
    let errand = DatabaseErrand { driver in
      let result = try body(driver)
      value.withLock { $0 = result }
    } end: { error in
      if error != nil { failed() }
      end.set(error)
    }
    let refusal: PersistenceError? =
      if let identifier {
        claim(identifier, for: nil, adding: errand)
      } else {
        state.withLock { $0.commit.add(errand) }
      }
    if let refusal { throw refusal }
    requestWriter()
    if let error = await end.value { throw error }
    return value.withLock { $0! }
  }

  /// Runs work that holds up no commits: it is not tried again, and ends early at a limit, or if the task is cancelled.
  ///
  /// Work that has begun by then goes on.
  ///
  /// - Parameter committed: Called once the transaction is committed, before another one begins.
  func attempt<Value: Sendable>(
    within limit: SavingWait.Limit? = nil,
    _ body: @escaping @Sendable (any PersistenceDriver) throws -> Value,
    committed: @escaping @Sendable (Value) -> Void = { _ in }
  ) async throws -> Value {
    let (value, end) = (Locked<Value?>(nil), Eventual<SavingWait.End>())
    let errand = DatabaseErrand(retries: false) { driver in
      let result = try body(driver)
      value.withLock { $0 = result }
    } end: { error in
      if error == nil { committed(value.withLock { $0! }) }
      end.set(.saved(error))
    }
    try await SavingWait(for: self, errand: errand, end: end).run(within: limit)
    return value.withLock { $0! }
  }
}

extension PersistenceError {
  /// - Parameter lag: The number of commits that came while it was being closed.
  fileprivate static func closed(_ lag: UInt64) -> PersistenceError {
    if lag == 0 { return PersistenceError(.closed, "The persistence was closed.") }
    return PersistenceError(
      .closed,
      """
      The persistence was closed, with \(commits(lag)) not saved, since they came meanwhile. Drain the dispatcher, and \
      stop what updates its stores, before you close.
      """)
  }

  fileprivate static func lostCommit(of identifier: String) -> PersistenceError {
    PersistenceError(
      .alreadyRegistered,
      """
      Store "\(identifier)": a change of a former Store is not saved, since another one was registered under its \
      identifier, or its rows were deleted. All else is saved. Change the present store, and release the former one.
      """)
  }

  fileprivate static func commits(_ count: UInt64) -> String {
    count == 1 ? "1 commit" : "\(count) commits"
  }
}

/// A database that stores can be saved in.
public struct PersistenceDatabase: Sendable {
  /// Makes the driver of one opening: a persistence that is released late closes no other one's.
  let makeDriver: @Sendable () -> any PersistenceDriver

  package init(_ makeDriver: @escaping @Sendable () -> any PersistenceDriver) {
    self.makeDriver = makeDriver
  }
}
