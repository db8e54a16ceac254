import Foundation

/// A store that is persisted, without its types.
///
/// The persistence's lock guards what it has kept of commits, and the role of the writer what was saved.
class PersistedRecord: CommitKeeper, @unchecked Sendable {  // because of these two
  let persistence: Persistence
  let identifier: String
  private let ownGate: PersistenceGate
  /// The number under which its rows are saved; zero before its registration has ended.
  var number: Int64 = 0
  /// Whether it is in the list of stores with commits that are in no group.
  var isDirty = false
  /// Whether it is being registered, and so has its identifier already.
  var isBeginning = false
  /// Whether another store has been registered under its identifier, so that its commits are no longer saved.
  ///
  /// Set in its exclusive section, too, so that an atomic action finds it before its stores change.
  var isReplaced: Bool {
    get { ownGate.isReplaced }
    set { ownGate.isReplaced = newValue }
  }
  /// Whether it was noted that a commit outside of any dispatch is lost, since the store was replaced.
  var hasNotedLoss = false
  /// The version up to which its commits are saved; set with the store's lock, before it is the store's keeper.
  var savedVersion = SavedVersion()
  /// The row of the model as it was saved last.
  var savedModel: Data?
  var hasReportedSize = false

  init(_ persistence: Persistence, _ identifier: String) {
    (self.persistence, self.identifier) = (persistence, identifier)
    ownGate = PersistenceGate(persistence, identifier)
  }

  /// The identifier in the database, where equal ones are the same bytes.
  var savedIdentifier: String { identifier.inFormC }

  override var gate: EndGate { ownGate }

  override final func keepRead(
    together keepers: [CommitKeeper], with rows: [CompanionRow]
  ) -> Bool {
    if isPlanted(.atomicInTwoGroups), keepers.count > 1 { return keepApart(keepers, with: rows) }
    let records = keepers.lazy.map { unsafeDowncast($0, to: PersistedRecord.self) }
    defer { for record in records { record.forgetRead() } }
    // All of them are commits of one dispatch.
    var loser: Dispatch?
    let needsWriter = persistence.state.withLock { state -> Bool in
      let isSaving = state.commit.failure == nil
      var isKept = false
      for record in records {
        switch record.keep(isSaving: isSaving) {
        case .nothing: break
        case .lost(let dispatch?): loser = dispatch
        case .lost(nil): state.noteLoss(of: record)
        case .kept:
          isKept = true
          // After a failure nobody would take it from the list, and it keeps the persistence.
          if isSaving, !record.isDirty {
            state.dirty.append(record)
            record.isDirty = true
          }
        }
      }
      guard isKept || loser != nil || !rows.isEmpty else { return false }
      if loser == nil {
        let replaced = state.keep(rows)
        state.work.replaced += replaced
      }
      state.commit.note()
      return state.commit.role == .free
    }
    if !isPlanted(.lossAcknowledged) { loser?.makeDetails().noteLoss() }
    return needsWriter
  }

  /// Plants a fault: keeps each commit as if it was alone.
  private func keepApart(_ keepers: [CommitKeeper], with rows: [CompanionRow]) -> Bool {
    var isKept = false
    for keeper in keepers {
      isKept = keeper.keepRead(together: [keeper], with: rows) || isKept
      yieldPoint(.cutGroup)
    }
    return isKept
  }

  enum Kept {
    /// No commit was read.
    case nothing
    case kept
    /// The store was replaced, so the commit is not saved: of this dispatch, or outside of any.
    case lost(Dispatch?)
  }

  /// Keeps the commit that was read, under the persistence's lock; after a failure only notes that there was one.
  func keep(isSaving: Bool) -> Kept { fatalError("PersistedRecord is abstract.") }

  /// Forgets the commit that was read.
  func forgetRead() { fatalError("PersistedRecord is abstract.") }

  override func kept() { persistence.requestWriter() }

  /// The dispatcher that the store is registered with.
  var dispatcher: Dispatcher? { fatalError("PersistedRecord is abstract.") }

  /// Whether the store is there, and was not loaded again, by another record.
  var isKeeper: Bool { fatalError("PersistedRecord is abstract.") }

  /// Calls a closure in the store's exclusive section, if the store is there.
  func inSection(_ body: () -> PersistenceError?) -> PersistenceError? {
    fatalError("PersistedRecord is abstract.")
  }

  /// Keeps no commits any longer, since the store could not be registered.
  func detach() { fatalError("PersistedRecord is abstract.") }

  /// Takes what was kept since the last call; called under the persistence's lock.
  func take() -> any PersistedBatch { fatalError("PersistedRecord is abstract.") }

  /// Reports a warning about the store.
  func report(_ kind: DispatchWarning.Kind, _ message: String) {}
}

/// The changes of one store in a group, without the store's types.
protocol PersistedBatch: Sendable {
  var record: PersistedRecord { get }
  var version: UInt64 { get }

  /// Encodes the changed rows.
  func rows() throws -> EncodedRows

  /// Writes the user's rows, in the current transaction.
  func project(_ driver: any PersistenceDriver) throws
}

/// The rows of one store, or of other work, that a group writes.
struct EncodedRows {
  /// The row of the model; nil if it has not changed.
  var model: Data?
  /// The rows to write, and with nil those to remove.
  var changed: [(row: SavedRow, value: Data?)] = []
  /// The dictionaries that were assigned as a whole: all of their rows, by part.
  var whole: [Int: [String: Data]] = [:]

  var byteCount: Int {
    (model?.count ?? 0) + changed.reduce(0) { $0 + ($1.value?.count ?? 0) }
      + whole.values.reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.count } }
  }

  /// Writes the rows in the current transaction.
  func write(_ driver: any PersistenceDriver, ofStore number: Int64) throws {
    if let model { try driver.save(model, at: SavedRow(part: 0, key: ""), ofStore: number) }
    for (part, rows) in whole { try write(rows, of: part, driver, ofStore: number) }
    for (row, value) in changed { try driver.save(value, at: row, ofStore: number) }
  }

  /// Writes the rows of a dictionary that differ from the saved ones, and removes the others.
  private func write(
    _ rows: [String: Data], of part: Int, _ driver: any PersistenceDriver, ofStore number: Int64
  ) throws {
    var rest = rows
    var gone: [String] = []
    try driver.forEachRow(ofStore: number, part: part) { key, value in
      guard let new = rows[key] else { return gone.append(key) }
      if new == value { rest[key] = nil }
    }
    for key in gone {
      try driver.save(nil, at: SavedRow(part: part, key: key), ofStore: number)
    }
    for (key, value) in rest {
      try driver.save(value, at: SavedRow(part: part, key: key), ofStore: number)
    }
  }
}
