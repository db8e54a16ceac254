public import Foundation

/// The persistence that a dispatcher was made with, which may be nil.
private final class DispatcherPersistence: DispatcherAttachment {
  let persistence: Persistence?

  init(_ persistence: Persistence?) { self.persistence = persistence }
}

extension Dispatcher {
  /// Makes a dispatcher whose stores can be saved.
  ///
  /// - Parameters:
  ///   - name: The dispatcher's name in messages.
  ///   - persistence: Saves the stores that are registered with `persisted:`. Several dispatchers may share it, each
  ///     with a name of its own: drain one before you make another of its name, whose saved work waits for the next
  ///     process. With nil, these stores stay in memory.
  ///   - defaults: The options of dispatches that name no others; see the other initializer for these and the rest.
  ///   - limits: The bounds of its lanes and its queue.
  ///   - queue: The concurrent queue.
  ///   - clock: The clock for durations and time limits.
  ///   - taskLocals: The task-local values to bind where an action runs.
  public convenience init(
    name: String = "dispatcher", persistence: Persistence?,
    defaults: DispatchOptions = DispatchOptions(), limits: DispatchLimits? = nil,
    queue: OperationQueue? = nil, clock: (any Clock<Duration>)? = nil,
    carrying taskLocals: [CarriedTaskLocal] = []
  ) {
    self.init(
      name: name, defaults: defaults, limits: limits, queue: queue, clock: clock,
      carrying: taskLocals)
    attach(persistence)
  }

  /// Sets the persistence, before the dispatcher is used.
  package func attach(_ persistence: Persistence?) {
    var isFirst = true
    func put(_ attachment: some DispatcherAttachment) {
      isFirst = self.attachment(orAdd: attachment) === attachment && isFirst
    }
    put(DispatcherPersistence(persistence))
    if let persistence {
      registry.withLock { $0.use(persistence) }
      put(persistence.keyTable)
      let keeper = persistence.companionKeeper
      put(Outbox(of: name, clock, in: world, savedBy: keeper, found: persistence.foundWork))
      put(SavedSchedules(of: self, keeper, found: persistence.foundSchedules))
    }
    // Without this, what was scheduled before would stay in memory.
    if !isFirst || attachment(ScheduleTable.self) != nil {
      stopProgram(
        """
        Dispatcher "\(name)" can't get a database: it was made with another one, with persistence: nil, or was used \
        before. Open the database for a new dispatcher.
        """)
    }
    if persistence?.add(self) == false {
      stopProgram(
        """
        Dispatcher "\(name)" can't share a database with another one of its name: saved work belongs to the name of \
        its dispatcher. Give each a name of its own, or drain the first one before you make the next.
        """)
    }
  }

  /// Registers a store whose state is saved: loads it if it was saved before, or else saves the store's.
  ///
  /// A `Store` object that you have unregistered, and register again with the same persistence, goes on as it is: nothing is
  /// loaded, and what it commits meanwhile is saved. That ends once you register another object under its identifier,
  /// even if that fails.
  ///
  /// The store's version is that of the saved state, or above its present one if the store has changed before. Register
  /// the store before anything observes or changes it. If another persistence has saved it before, wait until no dispatch
  /// to it is under way: such a dispatch would end before this persistence has saved its commits.
  ///
  /// A dispatch to the store ends once its commits are saved. `updateModel` and `inject` outside of a dispatch are
  /// saved, too, but don't wait: call `flush()`.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - waitFor: The stores that it waits for.
  ///   - ownership: Whether the dispatcher keeps it alive.
  ///   - form: The rows in which the state is saved.
  ///   - type: The name and version of the persisted type; by default the store's identifier, and version 1.
  /// - Returns: The store.
  /// - Throws: A `PersistenceError`: `notDecodable`, `newerVersion`, `migration`, `alreadyRegistered`, or the reason
  ///   why saving has failed. The store is not registered then, and nothing saved is changed. `alreadyRegistered` also if
  ///   the persistence saves this object with another form or type: make a new one.
  /// - Precondition: The dispatcher was made with `persistence:`.
  @discardableResult
  public func register<Model: Sendable & Codable, Action: ActionType>(
    store: Store<Model, Action>, waitFor: WaitFor = [], ownership: StoreOwnership = .strong,
    persisted form: PersistedForm<Model>, as type: PersistedType? = nil
  ) async throws -> Store<Model, Action> {
    guard let declared = attachment(DispatcherPersistence.self) else {
      stopProgram(
        """
        Store "\(store.identifier)" can't be saved: dispatcher "\(name)" has no persistence. Make it with \
        Dispatcher(name:persistence:), or with nil to keep its stores in memory.
        """)
    }
    guard self.store(with: store.identifier) == nil else {
      throw PersistenceError.alreadyRegistered(store.identifier)
    }
    if let refusal = PersistenceError.refusal(of: store.identifier) { throw refusal }
    guard let persistence = declared.persistence else {
      store.stayInMemory()
      form.undoesInPlace(in: store)
      guard register(store: store, waitFor: waitFor, ownership: ownership) === store else {
        throw PersistenceError.alreadyRegistered(store.identifier)
      }
      return store
    }
    let type = type ?? PersistedType(store.identifier)
    let present = try PersistedStore.present(of: store, form, as: type, in: persistence)
    let record = present ?? PersistedStore(store, form, as: type, in: persistence)
    if let refusal = persistence.claim(store.identifier, for: record) { throw refusal }
    if isPlanted(.servedBeforeLoaded) {
      register(store: store, waitFor: waitFor, ownership: ownership)
    }
    do {
      if present == nil {
        try await record.begin()
      } else {
        // The rows have what the store has. The errand throws if saving has failed.
        try await persistence.perform { _ in }
      }
      // A store that is not persistent may have come in between, or this one, which then waits for no saving.
      guard register(store: store, waitFor: waitFor, ownership: ownership) === store,
        endGate(ofStore: store.identifier) === record.gate
      else {
        throw PersistenceError.alreadyRegistered(store.identifier)
      }
    } catch {
      if present == nil { persistence.release(record) } else { persistence.endClaim(of: record) }
      throw error
    }
    persistence.endClaim(of: record)
    return store
  }
}

extension PersistenceError {
  /// The error for a store with the identifier of the library's own rows; nil for any other one.
  fileprivate static func refusal(of identifier: String) -> PersistenceError? {
    if identifier.inFormC != WorkRows.storeIdentifier { return nil }
    return PersistenceError(
      .alreadyRegistered,
      """
      Store "\(identifier)" can't be registered or deleted: the rows of idempotency keys, schedules and durable effects \
      have that identifier. Choose another one.
      """)
  }

  static func savedOtherwise(_ identifier: String) -> PersistenceError {
    PersistenceError(
      .alreadyRegistered,
      """
      Store "\(identifier)" can't be registered with this persisted: form or type, because the persistence saves the same \
      object with another one. Make a new Store, which is loaded from the rows.
      """)
  }

  static func alreadyRegistered(_ identifier: String) -> PersistenceError {
    PersistenceError(
      .alreadyRegistered,
      """
      Store "\(identifier)" is registered already. Unregister it first, or give one of the stores another identifier.
      """)
  }
}

extension Persistence {
  /// Notes a dispatcher, and forgets those that are gone; returns false if another one has its name, and is not closed.
  fileprivate func add(_ dispatcher: Dispatcher) -> Bool {
    // Released outside of the lock.
    let present = state.withLock { state in
      let present = state.dispatchers.compactMapValues(\.dispatcher)
      state.dispatchers = present.mapValues { DispatcherReference(dispatcher: $0) }
      state.dispatchers[dispatcher.name] = DispatcherReference(dispatcher: dispatcher)
      return present
    }
    return present[dispatcher.name]?.isClosed != false
  }

  /// Claims an identifier for a store, whose predecessor is saved no longer; without a record, for its deletion.
  ///
  /// The record may be the present one, of a store that is registered again.
  ///
  /// - Parameter errand: Added in the same step, so that no store can be registered in between.
  /// - Returns: The error if it can't be claimed, or if saving has failed.
  func claim(
    _ identifier: String, for record: PersistedRecord?, adding errand: DatabaseErrand? = nil
  ) -> PersistenceError? {
    if let refusal = PersistenceError.refusal(of: identifier) { return refusal }
    // Here, so that stores that are gone leave nothing, even if nobody calls `flush`.
    _ = presentLoss()
    let (present, isBeginning) = state.withLock { state -> (PersistedRecord?, Bool) in
      let present = state.records[identifier]?.record
      return (present, present?.isBeginning == true)
    }
    // In this order: a registration may end before the dispatcher is asked for, which has the store by then.
    if isBeginning && !isPlanted(.registeredTwice) || present?.dispatcher != nil {
      return .alreadyRegistered(identifier)
    }
    var lookedAt: [String: PersistedRecord] = [:]
    func take() -> PersistenceError? {
      state.withLock { state -> PersistenceError? in
        // A record that goes on may have been replaced since it was found.
        let isFree =
          state.records[identifier]?.record === present && record?.isReplaced != true
        guard isFree || isPlanted(.registeredTwice) else { return .alreadyRegistered(identifier) }
        if let errand, let failure = state.commit.add(errand) { return failure }
        if present !== record { present?.isReplaced = true }
        if let record {
          record.isBeginning = true
          lookedAt = state.add(record)
        } else {
          state.records[identifier] = nil
        }
        return nil
      }
    }
    let refusal = if let present { present.inSection(take) } else { take() }
    withExtendedLifetime(lookedAt) {}
    return refusal
  }

  /// Notes that a store is registered: from now on its dispatcher says whether it has the identifier.
  func endClaim(of record: PersistedRecord) { state.withLock { _ in record.isBeginning = false } }

  /// Gives up the claim of a store that could not be registered.
  func release(_ record: PersistedRecord) {
    record.detach()
    state.withLock { state in
      if state.records[record.identifier]?.record === record {
        state.records[record.identifier] = nil
      }
    }
  }
}
