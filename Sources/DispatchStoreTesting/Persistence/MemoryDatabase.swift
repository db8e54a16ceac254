public import DispatchStore
import Foundation

/// A database in memory for tests of persistent stores: it fails, is full and crashes when you say so.
///
///     let database = MemoryDatabase()
///     let persistence = try await database.open(for: dispatcher)
///     …
///     database.crash()
///     let restarted = Dispatcher(name: "shop")
///     try await database.open(for: restarted)
///
/// Only what was committed survives a crash. In a simulation each step of a transaction is a step of the world, so a
/// seed decides what happens between them.
///
/// Your statements are recorded in `statements`, and not run: `execute` returns 1, and `query` no rows. So
/// `DispatchLog.saved(in:)` finds no logs.
public final class MemoryDatabase: Sendable {
  let state = Awaited(State())
  private let turnstile = Turnstile()

  /// A fault of the database.
  public enum Fault: Sendable {
    /// Another program has it locked.
    case busy
    /// There is no room.
    case full
    /// Writing fails; nothing is written.
    case inputOutput
    /// The commit fails, and has happened; before it, other steps succeed.
    case commitUnknown
    /// The process crashes.
    case crash
  }

  struct State {
    var saved = Content()
    /// The number of crashes: connections from before one are dead.
    var crashes = 0
    /// The number of crashes at the last revival: connections from before those go on.
    var revivedCrashes = 0
    var step = 0
    var faults: [(fault: Fault, step: Int, count: Int)] = []
    var commits = 0
    var commitFaults: [(fault: Fault, commit: Int)] = []
    var hasOwner = false
    /// Whether the owner takes its lease for over, until its next commit.
    var isLeaseOver = false

    /// Whether a connection goes on that was made after this many crashes.
    func isAlive(_ crashes: Int) -> Bool { crashes == self.crashes || crashes < revivedCrashes }
  }

  /// The tables.
  struct Content {
    var owner = PersistenceOwner(epoch: 0, group: 0)
    var numbers: [String: Int64] = [:]
    var stores: [Int64: SavedStore] = [:]
    var rows: [Int64: [SavedRow: Data]] = [:]
    var statements: [Statement] = []
    var lastNumber: Int64 = 0
  }

  /// A statement that a projection has executed.
  public struct Statement: Sendable, Equatable {
    /// The text.
    public let sql: String
    /// The parameters.
    public let values: [DatabaseValue]
  }

  /// Makes an empty database.
  public init() {}

  /// Opens the database for a dispatcher, in its simulation if it belongs to one.
  ///
  /// - Throws: A `PersistenceError`.
  @discardableResult
  public func open(
    for dispatcher: Dispatcher, coder: any PersistenceCoder = JSONPersistenceCoder(),
    actions: ActionCoder = ActionCoder(), limits: PersistenceLimits = .suspending()
  ) async throws -> Persistence {
    let persistence = try await Persistence(
      PersistenceDatabase { MemoryDriver(self) }, coder: coder, actions: actions, limits: limits,
      inWorldOf: dispatcher)
    dispatcher.attach(persistence)
    return persistence
  }

  /// Crashes the process that has the database open: what is not committed is gone, and its connection is dead.
  public func crash() {
    state.change { state in
      state.crashes += 1
      state.hasOwner = false
    }
  }

  /// Lets connections from before a crash go on, as those of a process that was only thought to be dead.
  ///
  /// A later crash ends newer connections as before.
  public func reviveConnections() { state.change { $0.revivedCrashes = $0.crashes } }

  /// Makes the database fail at its next steps, or later.
  ///
  /// - Parameters:
  ///   - fault: The fault.
  ///   - steps: The number of steps of the database before it.
  ///   - count: The number of consecutive steps that fail.
  public func fail(_ fault: Fault, afterSteps steps: Int = 0, count: Int = 1) {
    state.change { $0.faults.append((fault, $0.step + steps, count)) }
  }

  /// Makes the database fail at a commit.
  ///
  /// - Parameters:
  ///   - fault: The fault.
  ///   - number: The number of commits of transactions before it.
  public func failAtCommit(_ fault: Fault, number: Int = 0) {
    state.change { $0.commitFaults.append((fault, $0.commits + number)) }
  }

  /// Removes the faults that have not come.
  public func removeFaults() { state.change { ($0.faults, $0.commitFaults) = ([], []) } }

  /// Makes another process the owner, as if this one was thought to be dead: it can write no longer.
  public func becomeOwned() { state.change { $0.saved.owner.epoch += 1 } }

  /// Lets the owner find that its lease is over, until its next commit.
  package func endLease() { state.change { $0.isLeaseOver = true } }

  /// Holds each commit of a transaction back until `release()`.
  ///
  /// In a simulation it has no effect: the seed delays commits.
  public func hold() { turnstile.close() }

  /// Lets the commits of transactions go on.
  public func release() { turnstile.open() }

  func waitUntilReleased() {
    // In a simulation it would block the world's only running thread.
    if currentSimulatedThread == nil { turnstile.pass() }
  }

  /// The statements of projections that were committed, in order.
  public var statements: [Statement] { state.read { $0.saved.statements } }

  /// The saved version of a store; nil if it was not saved.
  public func version(ofStore identifier: String) -> UInt64? {
    state.read { state in
      state.saved.numbers[identifier].flatMap { state.saved.stores[$0]?.version }
    }
  }

  /// The saved rows of a store: those of the model with the part 0, then those of each dictionary, by key.
  public func rows(ofStore identifier: String, part: Int) -> [String: String] {
    let rows = state.read { state in
      state.saved.numbers[identifier].flatMap { state.saved.rows[$0] } ?? [:]
    }
    var texts: [String: String] = [:]
    for (row, value) in rows where row.part == part {
      texts[row.key] = String(decoding: value, as: UTF8.self)
    }
    return texts
  }

  /// The number of steps so far.
  public var stepCount: Int { state.read(\.step) }
}

/// Lets threads pass while it is open.
private final class Turnstile: @unchecked Sendable {
  // because the condition's lock guards it
  private let condition = NSCondition()
  private var isOpen = true

  func close() { condition.withLock { isOpen = false } }

  func open() {
    condition.withLock {
      isOpen = true
      condition.broadcast()
    }
  }

  func pass() {
    condition.withLock { while !isOpen { condition.wait() } }
  }
}
