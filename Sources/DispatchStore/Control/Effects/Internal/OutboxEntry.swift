import Foundation

/// Work of a durable effect, from the commit that has caused it until it is done.
final class OutboxEntry: Sendable {
  let key: String
  let effect: String
  /// The place in the order in which work came.
  let number: Int
  let work: Work
  private let state: Locked<Progress>

  enum Work: Sendable {
    case action(any ActionType)
    /// An action of an earlier process that could not be decoded.
    case saved(SavedAction)
  }

  /// How far the work has come, without threads.
  struct Progress {
    var attempts = 0
    /// The text of the last error.
    var error: String?
    /// When it failed for good, in milliseconds since 1970.
    var failed: Int64?
    /// Whether a process has died with it.
    var wasLeft = false
    /// Whether a run does the work, or has done it.
    var isRunning = false
    var isDone = false

    /// Notes a failed attempt; returns whether another one follows.
    mutating func fail(_ error: String, of limit: Int, at time: Int64) -> Bool {
      attempts += 1
      self.error = error
      if attempts >= limit { failed = time }
      return failed == nil
    }
  }

  init(_ key: String, of effect: String, _ number: Int, _ work: Work, _ progress: Progress) {
    (self.key, self.effect, self.number, self.work) = (key, effect, number, work)
    state = Locked(progress)
  }

  var action: (any ActionType)? { if case .action(let action) = work { action } else { nil } }
  var progress: Progress { state.withLock { $0 } }

  func withProgress<Result>(_ body: (inout Progress) -> Result) -> Result { state.withLock(body) }

  /// Whether the work neither runs nor has failed for good.
  var isIdle: Bool { state.withLock { !$0.isRunning && $0.failed == nil } }

  /// Begins a run; returns false if another one does the work, or has done it.
  func beginRun() -> Bool {
    state.withLock { progress in
      defer { progress.isRunning = true }
      return !progress.isRunning
    }
  }

  /// Ends a run; after one that has done the work, no other begins.
  func endRun() { state.withLock { $0.isRunning = $0.isDone } }

  func noteDone() { state.withLock { $0.isDone = true } }

  func row(by keeper: CompanionKeeper) -> CompanionRow {
    CompanionRow(
      kind: .effect, key: key,
      value: OutboxRowValue(
        effect: effect, work: work, progress: progress, encodeAction: keeper.encodeAction))
  }

  var removal: CompanionRow { CompanionRow(kind: .effect, key: key, value: nil) }
}

/// The row of the work.
struct OutboxRow: Codable, Sendable {
  let effect: String
  let action: SavedAction
  let attempts: Int
  let error: String?
  let failed: Int64?
}

/// The value of the row, before it is encoded.
struct OutboxRowValue: CompanionValue {
  let effect: String
  let work: OutboxEntry.Work
  let progress: OutboxEntry.Progress
  let encodeAction: @Sendable (any ActionType) throws -> SavedAction

  var description: String { "the action of the durable effect \"\(effect)\"" }

  func encoded(with encode: (any Encodable) throws -> Data) throws -> Data {
    let saved =
      switch work {
      case .action(let action): try encodeAction(action)
      case .saved(let saved): saved
      }
    return try encode(
      OutboxRow(
        effect: effect, action: saved, attempts: progress.attempts, error: progress.error,
        failed: progress.failed))
  }
}
