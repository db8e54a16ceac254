/// The database, and the group or errand in progress: for the thread that writes.
final class Writer {
  let driver: any PersistenceDriver
  /// The owner of the next transaction.
  var owner: PersistenceOwner
  var current: Current?
  /// The number of failed attempts to write the current one.
  var failures = 0
  /// The number of small groups, up to the last one, after which the journal was large.
  var largeJournals = 0
  /// The number of the store that has the rows of keys and other work; nil until a group with such rows is saved.
  var workStore: Int64?

  enum Current {
    case group(Group)
    case errand(DatabaseErrand)
  }

  /// The commits that one transaction saves.
  struct Group {
    /// The number of its last commit.
    let commitNumber: UInt64
    let batches: [any PersistedBatch]
    let rows: [EncodedRows]
    let work: EncodedRows
  }

  init(_ driver: any PersistenceDriver, _ owner: PersistenceOwner) {
    (self.driver, self.owner) = (driver, owner)
  }

  /// Runs work in a transaction, unless it was committed before.
  func inTransaction(_ body: (any PersistenceDriver) throws -> Void) throws {
    if try driver.begin(as: owner) {
      do {
        try body(driver)
        try driver.commit()
      } catch {
        driver.rollback()
        throw error
      }
    }
    owner.group += 1
  }

  /// Whether the transaction whose commit has failed was committed nevertheless.
  func wasCommitted() throws -> Bool {
    if isPlanted(.commitNotLookedUp) { return false }
    guard try driver.begin(as: owner) else {
      owner.group += 1
      return true
    }
    driver.rollback()
    return false
  }
}

extension Writer.Group {
  /// Writes the group's rows, then those of the projections.
  ///
  /// - Parameter workStore: The number of the store of its work, which is looked up if it is nil.
  func write(_ driver: any PersistenceDriver, _ workStore: inout Int64?) throws {
    for (batch, rows) in zip(batches, rows) {
      try driver.save(version: batch.version, ofStore: batch.record.number)
      try rows.write(driver, ofStore: batch.record.number)
    }
    try WorkRows.write(work, driver, ofStore: &workStore)
    for batch in batches { try batch.project(driver) }
  }

  /// Notes that the rows are saved.
  func wasSaved() {
    for (batch, rows) in zip(batches, rows) {
      if let model = rows.model { batch.record.savedModel = model }
      batch.record.savedVersion.rise(to: batch.version)
    }
  }
}
