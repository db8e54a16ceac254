import Foundation

/// Work of a durable effect, from the commit that has caused it until it is done.
final class OutboxEntry: Sendable {
  let key: String
  let effect: String
  /// The name of the dispatcher that has caused it; nil in a row of an earlier version of the library.
  let dispatcher: String?
  /// The place in the order in which work came.
  let number: Int
  let work: Work
  private let state: Locked<Progress>
  /// The run that does the work, until it ends.
  private let run = Locked<EffectRun?>(nil)

  enum Work: Sendable {
    case action(any ActionType)
    /// An action of an earlier process that could not be decoded.
    case saved(SavedAction)
  }

  /// Whether a run does the work.
  enum Phase: Equatable {
    /// No run does. Can become running or done or, if the work has failed for good, reviving.
    case idle
    /// A run does. Can become ending, idle or done, or reviving if it has failed for good.
    case running
    /// The action that says that the work is done was dispatched, so the work can't be removed. Can become running if that
    /// action fails, idle or done.
    case ending
    /// A dead letter is to run again. Becomes idle at the last of so many ends: that of the call that saves it, and that
    /// of the run that has failed.
    case reviving(ends: Int)
    case done
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
    /// Whether the attempt that is being made is counted among the attempts already.
    var isCounted = false
    var phase = Phase.idle

    /// Makes a dead letter work again, which begins once it is saved and the run that has failed has ended; returns
    /// false if it is none.
    mutating func revive() -> Bool {
      guard failed != nil, phase != .done else { return false }
      let revival = Phase.reviving(ends: phase == .running ? 2 : 1)
      self = Progress()
      phase = revival
      return true
    }

    /// Ends a run, or the call that saves a revived letter; returns whether the next run is to begin.
    mutating func endRun() -> Bool {
      switch phase {
      case .idle, .done:
        return false
      case .running, .ending:
        phase = .idle
        return false
      case .reviving(let ends):
        phase = ends > 1 ? .reviving(ends: ends - 1) : .idle
        return ends == 1
      }
    }

    /// Whether the row of an earlier moment is the row still.
    func hasRow(of earlier: Progress) -> Bool {
      if isPlanted(.letterReturns) { return true }
      return phase != .done && attempts == earlier.attempts && failed == earlier.failed
    }

    /// Lets the action be dispatched that says that the work is done; returns false if the work was removed.
    mutating func beginEnd() -> Bool {
      if phase == .done { return false }
      phase = .ending
      return true
    }

    /// Notes that the action has failed.
    mutating func endHasFailed() {
      if phase == .ending { phase = .running }
    }

    /// Ends a dead letter, or other work, that is to be done no longer; returns false if it is done or is about to be, or not
    /// of that kind.
    mutating func remove(isLetter: Bool) -> Bool {
      guard phase != .done, isLetter == (failed != nil) else { return false }
      if phase == .ending, !isPlanted(.removedAtEnd) { return false }
      phase = .done
      return true
    }

    /// Makes work a dead letter, since nobody attempts it again; returns whether it was none.
    mutating func giveUp(at time: Int64) -> Bool {
      guard failed == nil, phase != .done else { return false }
      (failed, error) = (time, error ?? OutboxEntry.endOfDispatcher)
      return true
    }

    /// Counts an attempt before it is made; returns false if all are used up, so that the work has failed for good.
    mutating func countAhead(of limit: Int, at time: Int64) -> Bool {
      guard attempts < limit else {
        (failed, error) = (time, error ?? OutboxEntry.endOfProcess)
        return false
      }
      (attempts, isCounted) = (attempts + 1, true)
      return true
    }

    /// Takes back the count of an attempt that has neither succeeded nor failed; returns whether it was counted.
    mutating func uncount() -> Bool {
      guard isCounted else { return false }
      (attempts, isCounted) = (attempts - 1, false)
      return true
    }

    /// The state of work after an attempt has failed.
    enum Failure {
      case isRetried, isDeadLetter
      /// The work was removed during the attempt.
      case isRemoved
    }

    /// Notes a failed attempt.
    mutating func fail(_ error: String, of limit: Int, at time: Int64) -> Failure {
      if phase == .done { return .isRemoved }
      if !isCounted { attempts += 1 }
      isCounted = false
      self.error = error
      guard attempts >= limit else { return .isRetried }
      failed = time
      return .isDeadLetter
    }
  }

  init(
    _ key: String, of effect: String, _ dispatcher: String?, _ number: Int, _ work: Work,
    _ progress: Progress
  ) {
    (self.key, self.effect, self.dispatcher) = (key, effect, dispatcher)
    (self.number, self.work) = (number, work)
    state = Locked(progress)
  }

  /// Whether a dispatcher of a name may do the work.
  func belongs(to name: String) -> Bool { dispatcher == nil || dispatcher == name }

  var action: (any ActionType)? { if case .action(let action) = work { action } else { nil } }
  var progress: Progress { state.withLock { $0 } }

  func withProgress<Result>(_ body: (inout Progress) -> Result) -> Result { state.withLock(body) }

  /// Whether the work neither runs nor is done, and has not failed for good.
  var isIdle: Bool { state.withLock { $0.phase == .idle && $0.failed == nil } }

  /// Begins a run; returns false if another one does the work or has done it, or if the work has failed for good.
  func beginRun() -> Bool {
    state.withLock { progress in
      // The caller may have found the work before another run has failed.
      guard progress.phase == .idle, progress.failed == nil else { return false }
      progress.phase = .running
      return true
    }
  }

  /// Ends a run; returns whether another one is to begin, since the work was revived.
  ///
  /// After a run that has done the work, no other begins.
  func endRun() -> Bool { state.withLock { $0.endRun() } }

  /// Keeps the run that does the work; returns false if the work was removed before.
  func keep(_ run: EffectRun) -> Bool {
    self.run.withLock { $0 = run }
    return progress.phase != .done || isPlanted(.removedWorkRuns)
  }

  func runHasEnded() { run.withLock { $0 = nil } }

  /// Cancels the run that does the work, if there is one.
  func cancelRun() { run.withLock { $0 }?.cancel() }

  func noteDone() { state.withLock { $0.phase = .done } }

  /// The row of the work as it is now, which is not saved if a change comes first that saves another one.
  var row: CompanionRow {
    let progress = progress
    return CompanionRow(
      kind: .effect, key: key, value: OutboxRowValue(entry: self, progress: progress)
    ) { [self] in self.progress.hasRow(of: progress) }
  }

  /// The error of an attempt that has not ended before the process.
  static let endOfProcess = "The process ended during the attempt."

  /// The error of work that has not failed before its dispatcher was closed.
  static let endOfDispatcher = "The dispatcher was closed before the work was done."

  var removal: CompanionRow { CompanionRow(kind: .effect, key: key, value: nil) }
}

/// The row of the work.
struct OutboxRow: Codable, Sendable {
  let effect: String
  /// Nil in a row of an earlier version of the library.
  let dispatcher: String?
  /// The place in the order in which work came; nil in a row of an earlier version of the library.
  let number: Int?
  let action: SavedAction
  let attempts: Int
  let error: String?
  let failed: Int64?
}

/// The value of the row, before it is encoded.
struct OutboxRowValue: CompanionValue {
  let entry: OutboxEntry
  /// The progress at the time of the commit.
  let progress: OutboxEntry.Progress

  var description: String { "the durable effect \"\(entry.effect)\"" }

  func encoded(by encoder: CompanionEncoder) throws -> Data {
    let saved =
      switch entry.work {
      case .action(let action): encoder.save(action, of: description)
      case .saved(let saved): saved
      }
    return try encoder.encode(
      OutboxRow(
        effect: entry.effect, dispatcher: entry.dispatcher, number: entry.number, action: saved,
        attempts: progress.attempts,
        error: progress.error ?? (progress.isCounted ? OutboxEntry.endOfProcess : nil),
        failed: progress.failed))
  }
}
