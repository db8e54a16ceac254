import DispatchStore
import Foundation

/// A connection to a database in memory.
final class MemoryDriver: PersistenceDriver, @unchecked Sendable {
  // because one thread at a time uses it
  private let database: MemoryDatabase
  private var crashes = 0
  private var isOpen = false
  /// The tables in the transaction.
  private var content: MemoryDatabase.Content?
  /// The saved owner when the transaction began.
  private var ownerBefore: PersistenceOwner?
  /// The fault in the transaction, which it can't survive though a projection may have caught it.
  private var fault: PersistenceError?

  init(_ database: MemoryDatabase) { self.database = database }

  let description = "Database in memory"
  let journalBytes = 0
  var isLeaseOver: Bool { database.state.read(\.isLeaseOver) }

  /// Notes a step, after which the world may switch threads; throws the step's fault.
  private func step(_ name: String) throws {
    do {
      try attempt(name)
    } catch let error as PersistenceError {
      fault = error
      throw error
    }
  }

  private func attempt(_ name: String) throws {
    yieldBeforeDatabase(name)
    let fault = database.state.change { state -> MemoryDatabase.Fault? in
      state.step += 1
      if name == "commit" {
        state.commits += 1
        if let index = state.commitFaults.firstIndex(where: { $0.commit < state.commits }) {
          return state.commitFaults.remove(at: index).fault
        }
      }
      let index = state.faults.firstIndex {
        $0.step < state.step && ($0.fault != .commitUnknown || name == "commit")
      }
      guard let index else { return nil }
      state.faults[index].count -= 1
      let fault = state.faults[index].fault
      if state.faults[index].count <= 0 { state.faults.remove(at: index) }
      return fault
    }
    switch fault {
    case .busy: throw PersistenceError(.busy, "\(description) is locked.")
    case .full: throw PersistenceError(.full, "\(description) is full.")
    case .inputOutput: throw PersistenceError(.inputOutput, "\(description) can't be written.")
    case .commitUnknown where name == "commit":
      try checkAlive()
      try commitNow()
      throw PersistenceError(.inputOutput, "\(description): lost.", isOutcomeKnown: false)
    case .crash: database.crash()
    case .commitUnknown, nil: break
    }
    try checkAlive()
  }

  private func checkAlive() throws {
    let isAlive = database.state.read { $0.isAlive(crashes) }
    if !isOpen || !isAlive {
      content = nil
      throw crashed()
    }
  }

  private func crashed() -> PersistenceError {
    PersistenceError(.inputOutput, "The process has crashed.", isOutcomeKnown: false)
  }

  func open() throws -> PersistenceOwner {
    yieldBeforeDatabase("open")
    let owner = database.state.change { state -> PersistenceOwner? in
      if state.hasOwner { return nil }
      (state.hasOwner, isOpen, crashes) = (true, true, state.crashes)
      state.saved.owner.epoch += 1
      return state.saved.owner
    }
    guard let owner else {
      throw PersistenceError(.inUse, "\(description) is open already, in this process.")
    }
    return owner
  }

  func begin(as owner: PersistenceOwner) throws -> Bool {
    fault = nil
    try step("begin")
    var saved = database.state.read(\.saved)
    ownerBefore = saved.owner
    if isPlantedInDatabase(.ownerNotCompared) { saved.owner = owner }
    if saved.owner.epoch == owner.epoch, saved.owner.group == owner.group + 1 {
      return false
    }
    guard saved.owner == owner else {
      throw notOwner()
    }
    content = saved
    content?.owner.group += 1
    return true
  }

  func commit() throws {
    // First, so that a fault or a crash that comes meanwhile concerns this commit.
    database.waitUntilReleased()
    if let fault { throw fault }
    try step("commit")
    try commitNow()
  }

  private func commitNow() throws {
    guard let content else { return }
    self.content = nil
    let error = database.state.change { state -> PersistenceError? in
      // It may have crashed since the step began: what is not committed by then is gone.
      guard state.isAlive(crashes) else { return crashed() }
      // Another process may have become the owner since the transaction began.
      guard state.saved.owner == ownerBefore else { return notOwner() }
      (state.saved, state.isLeaseOver) = (content, false)
      return nil
    }
    if let error { throw error }
  }

  private func notOwner() -> PersistenceError {
    PersistenceError(.notOwner, "\(description) has another owner.")
  }

  func rollback() { content = nil }

  func close() {
    database.state.change { state in
      if isOpen, state.crashes == crashes { state.hasOwner = false }
    }
    isOpen = false
  }

  func storeIdentifiers() throws -> [String] {
    try step("look up the stores")
    return content!.numbers.keys.sorted()
  }

  func store(_ identifier: String) throws -> SavedStore? {
    try step("look up a store")
    return content!.numbers[identifier].flatMap { content!.stores[$0] }
  }

  func save(_ store: SavedStore, _ identifier: String) throws -> Int64 {
    try step("save a store")
    if content!.numbers[identifier] == nil {
      content!.lastNumber += 1
      content!.numbers[identifier] = content!.lastNumber
    }
    let number = content!.numbers[identifier]!
    content!.stores[number] = store
    content!.stores[number]!.number = number
    return number
  }

  func save(version: UInt64, ofStore number: Int64) throws {
    try step("save a version")
    content!.stores[number]!.version = version
  }

  func delete(store number: Int64) throws {
    try step("delete a store")
    content!.numbers = content!.numbers.filter { $0.value != number }
    (content!.stores[number], content!.rows[number]) = (nil, nil)
  }

  func save(_ value: Data?, at row: SavedRow, ofStore number: Int64) throws {
    try step("save a row")
    content!.rows[number, default: [:]][row] = value
  }

  func forEachRow(
    ofStore number: Int64, part: Int, _ body: (_ key: String, _ value: Data) throws -> Void
  ) throws {
    try step("read rows")
    // In the order of keys, as databases do, so that a seed repeats it.
    let rows = (content!.rows[number] ?? [:]).filter { $0.key.part == part }
    for (row, value) in rows.sorted(by: { $0.key.key < $1.key.key }) { try body(row.key, value) }
  }

  func lastPart(ofStore number: Int64) throws -> Int {
    try step("read rows")
    return (content!.rows[number] ?? [:]).keys.map(\.part).max() ?? 0
  }

  func execute(_ sql: String, _ values: [DatabaseValue]) throws -> Int {
    try step("execute a statement")
    content!.statements.append(MemoryDatabase.Statement(sql: sql, values: values))
    return 1
  }

  func query(_ sql: String, _ values: [DatabaseValue]) throws -> [[DatabaseValue]] {
    try step("query")
    return []
  }
}
