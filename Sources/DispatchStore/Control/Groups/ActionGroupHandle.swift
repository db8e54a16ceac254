public import Foundation

/// A group of steps, in flight or ended: awaited, or cancelled.
///
/// Releasing it does not cancel the group. It may be used from any thread.
public struct ActionGroupHandle: Sendable {
  let run: GroupRun

  /// Whether the group has ended: its completion has run.
  public var hasEnded: Bool { run.result != nil }

  /// How the group ended; nil until its completion has run.
  public var resultIfEnded: ActionGroupResult? { run.result }

  /// Cancels the steps that run, as `DispatchHandle.cancel()` does, and starts nothing more but compensations.
  ///
  /// Steps that finished are compensated then; compensations are not cancelled. A `.sync` step that runs goes on to its
  /// end. Where every step finishes all the same, the group succeeds. After the end this has no effect.
  public func cancel() {
    run.cancel()
  }

  /// How the group ended, once its completion has run.
  ///
  /// Cancelling the task that awaits it neither cancels the group nor ends the wait. In an operation's block that
  /// holds what a step needs, the wait ends at once when that step is the oldest that runs, with the error
  /// `wouldDeadlock`; the group goes on, and needs the block to end. What is not seen is as in `DispatchHandle.result`;
  /// also a `.sync` step that waits for the block.
  public var result: ActionGroupResult {
    get async { await run.awaitResult(in: DispatchContext.ofTask) }
  }

  /// Waits for the end, once its completion has run; `result` for a statement that does not use it.
  @discardableResult
  public func ended() async -> ActionGroupResult {
    await result
  }

  /// Waits for the end; throws the first error, in time: a store's own, `CancellationError` or `DispatchError`.
  @discardableResult
  public func get() async throws -> ActionGroupResult {
    try await result.get()
  }

  /// Calls a closure once the group has ended, after its completion, on the thread that ran that; where the group has
  /// ended, at once on this thread.
  public func whenEnded(_ body: @escaping @Sendable (ActionGroupResult) -> Void) {
    run.whenEnded(body)
  }

  /// How far the group has come: a unit for each step, which is complete when the step has ended; all are when the
  /// group has.
  ///
  /// Each access makes an object, of the caller's own: no other thread changes it, so that it may be read without a
  /// race. Cancelling it cancels the group. For one that goes on by itself, set its count in `onProgress`, on the
  /// queue where it is read.
  public var progress: Progress {
    // An empty group has a unit, too: without any, Foundation never calls it finished.
    let unitCount = max(Int64(run.stepCount), 1)
    let progress = Progress.discreteProgress(totalUnitCount: unitCount)
    progress.completedUnitCount = hasEnded ? unitCount : Int64(run.endCount)
    progress.isCancellable = true
    progress.cancellationHandler = { [run] in run.cancel() }
    return progress
  }
}
