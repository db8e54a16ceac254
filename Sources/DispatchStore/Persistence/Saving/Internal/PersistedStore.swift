import Foundation

/// A persistent store: the changes that are in no group yet, and how its rows are loaded and saved.
final class PersistedStore<Model: Sendable & Codable, Action: ActionType>: PersistedRecord,
  @unchecked Sendable
{
  // because its superclass says so; the store's lock guards what it reads of a commit
  private let form: PersistedForm<Model>
  private let type: PersistedType
  private let coder: RowCoder
  private weak let store: Store<Model, Action>?
  private var parts: [any PartChanges<Model>] = []
  /// The model after the last commit, with the dictionaries of elements empty, and that commit's version.
  private var model: Model?
  private var version: UInt64 = 0
  private var commits: [StoreCommit<Action>] = []
  /// The user's rows that are written with its own.
  var projections: [Projection<Model, Action>] = []
  /// Whether no commit is kept any longer, so that none has to be read; the store's lock guards it.
  private var isOver = false
  /// Whether nothing has kept the store's commits before; the store's lock guards it.
  private var isFirstKeeper = false
  /// The commit in progress, until it is kept, and its dispatch.
  private var commit: StoreCommit<Action>?
  private var dispatch: Dispatch?
  /// The model after the commit in progress; once that is kept, the one before, to be released outside of the lock.
  private var other: Model?

  init(
    _ store: Store<Model, Action>, _ form: PersistedForm<Model>, as type: PersistedType,
    in persistence: Persistence
  ) {
    (self.store, self.form, self.type) = (store, form, type)
    coder = RowCoder(
      coder: persistence.coder, storeIdentifier: store.identifier,
      driver: persistence.writer.driver)
    super.init(persistence, store.identifier)
  }

  /// The record that saves the store in this persistence already; nil if there is none.
  ///
  /// If the store was loaded anew, the commits that come meanwhile would be lost.
  ///
  /// - Throws: `alreadyRegistered` if it saves the store with another form or type.
  static func present(
    of store: Store<Model, Action>, _ form: PersistedForm<Model>, as type: PersistedType,
    in persistence: Persistence
  ) throws -> PersistedStore<Model, Action>? {
    guard let record = store.storage.presentKeeper as? PersistedStore<Model, Action>,
      record.persistence === persistence,
      !persistence.state.withLock({ _ in record.isReplaced })
    else { return nil }
    guard record.form.hasSameRows(as: form), record.type.isSame(as: type) else {
      throw PersistenceError.savedOtherwise(store.identifier)
    }
    return record
  }

  override var dispatcher: Dispatcher? { store?.dispatcher }

  override var isKeeper: Bool { store?.storage.presentKeeper === self }

  override func inSection(_ body: () -> PersistenceError?) -> PersistenceError? {
    guard let store else { return body() }
    return store.storage.withLock { _ in body() }
  }

  override func report(_ kind: DispatchWarning.Kind, _ message: String) {
    store?.report(kind, message)
  }

  // MARK: Commits

  override func read(_ commit: CommitInProgress) {
    let present = commit.model.assumingMemoryBound(to: Model.self)
    for part in parts { part.read(present, commit.version) }
    let action = commit.action.assumingMemoryBound(to: Action?.self).pointee
    other = form.hollowed(present.pointee)
    self.commit = StoreCommit(
      version: commit.version, action: action, dispatchID: commit.dispatchID)
    dispatch = commit.owner?.waiting
  }

  override func keep(isSaving: Bool) -> Kept {
    guard let commit else { return .nothing }
    // Unless the writer has yet to take what was kept before.
    isOver = (isReplaced || !isSaving) && !isDirty
    if isReplaced { return .lost(dispatch) }
    if !isSaving { return .kept }
    swap(&model, &other)
    version = commit.version
    for part in parts { part.keep() }
    if !projections.isEmpty { commits.append(commit) }
    return .kept
  }

  override func forgetRead() {
    (commit, dispatch, other) = (nil, nil, nil)
    for part in parts { part.forgetRead() }
    if isOver {
      for part in parts { part.end() }
      parts = []
    }
  }

  override func take() -> any PersistedBatch {
    defer { (model, isDirty, commits) = (nil, false, []) }
    return StoreBatch(
      record: self, version: version, model: model!, parts: parts.map { $0.take() },
      commits: commits, projections: projections, coder: coder)
  }

  /// Returns the version at which an element was changed last; called under the store's lock.
  ///
  /// If that change is saved, any saved version may be returned. If the dictionary has no rows of its own, the store's.
  func lastChange<Key: PersistentKey, Value: Sendable & Codable>(
    of key: Key, in path: any KeyPath<Model, TrackedDictionary<Key, Value>> & Sendable
  ) -> UInt64 {
    for case let part as DictionaryChanges<Model, Key, Value> in parts
    where part.part.path as AnyKeyPath == path {
      return part.lastChanges.version(of: key)
    }
    return store?.storage.version ?? 0
  }

  // MARK: Registration

  /// Loads the saved state into the store, or saves the store's if there is none.
  func begin() async throws {
    guard let store else { return }
    let persistence = persistence
    let (saved, model) = try await persistence.perform(
      { driver -> (SavedStore, Model?) in
        guard var saved = try driver.store(self.savedIdentifier) else {
          return (try self.save(store, driver), nil)
        }
        try self.check(saved, driver)
        try self.migrate(&saved, driver)
        return (saved, try self.load(saved, driver))
      },
      // Before the writer can come to a commit of a store without a row.
      failed: { self.detach() })
    // Not before, since a store that can't be saved stays as it is.
    form.undoesInPlace(in: store)
    guard let model else { return savedVersion.rise(to: saved.version) }
    number = saved.number
    try attach(to: store, model, saved.version)
  }

  /// Sets the store to a saved model, and begins to keep its commits.
  ///
  /// A store's version never falls: its observers would take a commit for one that they have had.
  ///
  /// - Throws: `alreadyRegistered` if the store has come in memory meanwhile, and so may have been dispatched to.
  private func attach(to store: Store<Model, Action>, _ model: Model, _ saved: UInt64) throws {
    // The replaced model is released outside of the lock, and so are the dispatcher and the former keeper.
    var former = model
    var kept = KeptCommit()
    store.storage.lock.lock()
    let (dispatcher, keeper) = (store.dispatcher, store.storage.keeper)
    defer { withExtendedLifetime(dispatcher) {} }
    guard dispatcher == nil || isPlanted(.servedBeforeLoaded) else {
      store.storage.lock.unlock()
      throw PersistenceError.alreadyRegistered(identifier)
    }
    swap(&store.storage.model.pointee, &former)
    let present = store.storage.version
    let version = present > 0 ? max(saved, present + 1) : saved
    store.storage.version = version
    // A store that was selected from may have version 0 before and after.
    store.storage.attachment(SelectorMemos.self)?._withUnsafeGuaranteedRef { $0.forgetVersions() }
    let observers = store.storage.withNotifications(\.observersOutOfTurn.slots)
    ObserverList.forEach(in: observers) { observer, _ in
      observer.modelWasLoaded(store.storage.model, version: version, &kept)
    }
    // Loaded elements are saved, also if the version has risen.
    beginKeeping(of: store, since: saved)
    savedVersion.rise(to: saved)
    if version > saved { keepVersion(of: store) }
    let published = store.storage.publish()
    store.storage.lock.unlock()
    withExtendedLifetime((former, published, keeper)) {}
    store.storage.scheduleCalls(kept)
    if version > saved { persistence.requestWriter() }
  }

  /// Begins to keep the store's commits, in place of an earlier registration's keeper; called under the store's lock.
  ///
  /// - Parameter version: The version up to which any element may have been changed.
  private func beginKeeping(of store: Store<Model, Action>, since version: UInt64) {
    let (storage, keeper) = (store.storage, store.storage.keeper)
    let former = keeper as? PersistedStore<Model, Action>
    let isNotified = storage.withNotifications { $0.isDelivered && !$0.isIdle }
    savedVersion = SavedVersion(
      from: storage.version, after: isNotified ? former?.savedVersion : nil)
    parts = form.parts.map { $0.makeChanges(storage.model, version, savedIn: savedVersion) }
    isFirstKeeper = keeper == nil
    if let former {
      // Each record is guarded by the lock of its own persistence.
      let projections = former.persistence.state.withLock { _ in former.projections }
      persistence.state.withLock { _ in self.projections = projections }
    }
    storage.setKeeper(self)
  }

  /// Keeps the version that loading has raised, as a commit without changes; called under the store's lock.
  ///
  /// Otherwise a flush would not wait for it, and after a crash the next commit would have that version again.
  private func keepVersion(of store: Store<Model, Action>) {
    let storage = store.storage
    withUnsafePointer(to: nil as Action?) { action in
      read(
        CommitInProgress(
          model: storage.modelAddress, action: action, version: storage.version, owner: nil))
    }
    _ = keepRead(together: [self], with: [])
  }

  /// Saves the store's state for the first time, and begins to keep its commits.
  ///
  /// Called in the role of the writer, which therefore comes to no later commit before the store has its row.
  private func save(
    _ store: Store<Model, Action>, _ driver: any PersistenceDriver
  ) throws -> SavedStore {
    store.storage.lock.lock()
    let keeper = store.storage.keeper
    // A further attempt keeps the changes since the first one.
    if keeper !== self { beginKeeping(of: store, since: store.storage.version) }
    store.storage.lock.unlock()
    withExtendedLifetime(keeper) {}
    let (model, version) = store.storage.withLock { _ in
      (store.storage.model.pointee, store.storage.version)
    }
    let saved = SavedStore(version: version, typeName: type.name, typeVersion: type.version)
    number = try driver.save(saved, savedIdentifier)
    try write(model, form.parts, ofStore: number, driver)
    return saved
  }

  override func detach() {
    let store = store
    store?.storage.lock.lock()
    // Otherwise commits of dispatches to the former store are lost, as if it was replaced.
    if isFirstKeeper, let store, store.storage.keeper === self {
      store.storage.setKeeper(nil)
      for part in parts { part.end() }
    }
    let kept = persistence.state.withLock { state -> (any PersistedBatch)? in
      isReplaced = true
      state.dirty.removeAll { $0 === self }
      return isDirty ? take() : nil
    }
    store?.storage.lock.unlock()
    withExtendedLifetime((store, kept)) {}
  }

  private func check(_ saved: SavedStore, _ driver: any PersistenceDriver) throws {
    guard saved.typeName == type.name else {
      throw PersistenceError(
        .notDecodable,
        """
        \(coder.database), table dispatchstore_stores, store "\(identifier)": its rows are of type \
        "\(saved.typeName)", and the store is of type "\(type.name)". Nothing was changed. Register it with the saved \
        name, or under another identifier.
        """)
    }
    guard saved.typeVersion <= type.version else {
      throw PersistenceError(
        .newerVersion,
        """
        \(coder.database), table dispatchstore_stores, store "\(identifier)": its rows have version \
        \(saved.typeVersion) of "\(type.name)", and this program knows versions up to \(type.version). Nothing was \
        changed. Run the newer program.
        """)
    }
    let (lastPart, parts) = (try driver.lastPart(ofStore: saved.number), form.parts.count)
    guard lastPart <= parts else {
      throw PersistenceError(
        .notDecodable,
        """
        \(coder.database), table dispatchstore_rows, store "\(identifier)": it has rows for the elements of \(lastPart) \
        dictionaries, and the store is registered with \(parts). Nothing was changed. Register it with persisted: \
        .elements(…) of the dictionaries that it was saved with, in the same order.
        """)
    }
  }

  private func load(_ saved: SavedStore, _ driver: any PersistenceDriver) throws -> Model {
    var row: Data?
    try driver.forEachRow(ofStore: saved.number, part: 0) { row = $1 }
    guard let row else { throw coder.notDecodable(0, "", "There is no row.") }
    savedModel = row
    var model = try coder.decode(Model.self, row, 0, "")
    var moved: [any PersistedPart<Model>] = []
    for part in form.parts where try part.load(&model, coder, driver, ofStore: saved.number) {
      moved.append(part)
    }
    if !moved.isEmpty { try write(model, moved, ofStore: saved.number, driver) }
    return model
  }

  /// Writes the model's row, and all rows of some parts.
  private func write(
    _ model: Model, _ parts: [any PersistedPart<Model>], ofStore number: Int64,
    _ driver: any PersistenceDriver
  ) throws {
    let row = try coder.encode(form.hollowed(model), at: { nil })
    try driver.save(row, at: SavedRow(part: 0, key: ""), ofStore: number)
    for part in parts { try part.save(model, coder, driver, ofStore: number) }
    savedModel = row
  }

  private func migrate(_ saved: inout SavedStore, _ driver: any PersistenceDriver) throws {
    if saved.typeVersion == type.version { return }
    guard let migrate = type.migrate else {
      throw PersistenceError(
        .migration,
        """
        \(coder.database), table dispatchstore_stores, store "\(identifier)": its rows have version \
        \(saved.typeVersion) of "\(type.name)", and the program has no migration from it to version \(type.version). \
        Nothing was changed.
        """)
    }
    for part in 0...form.parts.count {
      var rows: [(String, Data)] = []
      try driver.forEachRow(ofStore: saved.number, part: part) { rows.append(($0, $1)) }
      for (key, value) in rows {
        let migrated = try self.migrated(value, part, key, from: saved.typeVersion, migrate)
        try driver.save(migrated, at: SavedRow(part: part, key: key), ofStore: saved.number)
      }
    }
    saved.typeVersion = type.version
    _ = try driver.save(saved, savedIdentifier)
  }

  private func migrated(
    _ value: Data, _ part: Int, _ key: String, from version: Int,
    _ migrate: (inout PersistedRow) throws -> Void
  ) throws -> Data {
    let before = try coder.decode(PlainValue.self, value, part, key)
    var row = PersistedRow(version: version, part: part, key: key, value: before)
    do {
      while row.version < type.version {
        try migrate(&row)
        row.version += 1
      }
    } catch {
      throw PersistenceError(
        .migration,
        """
        \(coder.database), table dispatchstore_rows, store "\(identifier)", row "\(key)" of part \(part): its \
        migration from version \(row.version) of "\(type.name)" threw \(error). Nothing was changed.
        """, cause: error)
    }
    // A plain value may have lost digits of a number, so a row that the migration has not changed stays as it is.
    if row.value.isIdentical(to: before) { return value }
    let plain = try coder.encode(before, at: { key })
    guard plain == value || ExactNumbers.read(plain) == ExactNumbers.read(value) else {
      throw PersistenceError(
        .migration,
        """
        \(coder.database), table dispatchstore_rows, store "\(identifier)", row "\(key)" of part \(part): its \
        migration changes it, and would round a number in it, which has more digits than a Double. Nothing was \
        changed. Let the migration leave such rows as they are, and the type decode them with an init(from:) of its own.
        """)
    }
    return try coder.encode(row.value, at: { key })
  }
}

/// The changes of one store in one group.
struct StoreBatch<Model: Sendable & Codable, Action: ActionType>: PersistedBatch {
  let record: PersistedRecord
  let version: UInt64
  let model: Model
  let parts: [any PartBatch]
  let commits: [StoreCommit<Action>]
  let projections: [Projection<Model, Action>]
  let coder: RowCoder

  func rows() throws -> EncodedRows {
    var rows = EncodedRows()
    let row = try coder.encode(model, at: { nil })
    if row != record.savedModel { rows.model = row }
    for part in parts { try part.add(to: &rows, coder) }
    return rows
  }

  func project(_ driver: any PersistenceDriver) throws {
    for projection in projections { try projection.run(self, driver) }
  }
}
