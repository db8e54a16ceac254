/// Work of a durable effect, from the commit that has caused it until it is done.
final class OutboxEntry: Sendable {
  let key: String
  let effect: String
  /// The name of the dispatcher that has caused it, the only one that does it.
  let dispatcher: String
  /// The place in the order in which work came.
  let number: Int
  /// Nil for an action of an earlier process that could not be decoded: a dead letter, whose row stays as it is.
  let action: (any ActionType)?
  private let state: Locked<Progress>
  /// The run that does the work, until it ends.
  private let run = Locked<EffectRun?>(nil)

  init(
    _ key: String, of effect: String, _ dispatcher: String, _ number: Int,
    _ action: (any ActionType)?, _ progress: Progress
  ) {
    (self.key, self.effect, self.dispatcher) = (key, effect, dispatcher)
    (self.number, self.action) = (number, action)
    state = Locked(progress)
  }

  var progress: Progress { state.withLock { $0 } }

  func withProgress<Result>(_ body: (inout Progress) -> Result) -> Result { state.withLock(body) }

  /// Begins a run; returns false if another one does the work or has done it, or if the work has failed for good.
  func beginRun() -> Bool { state.withLock { $0.beginRun() } }

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
