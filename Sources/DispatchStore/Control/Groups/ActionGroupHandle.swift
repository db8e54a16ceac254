/// A group of steps, in flight or ended: awaited, or cancelled.
///
/// Releasing it does not cancel the group. It may be used from any thread.
public struct ActionGroupHandle: Sendable {
  let run: GroupRun

  /// Whether the group has ended: its completion has run.
  public var hasEnded: Bool { run.result != nil }

  /// The outcome of the group; nil until its completion has run.
  public var resultIfEnded: ActionGroupResult? { run.result }

  /// Cancels the steps that run, as `DispatchHandle.cancel()` does, and starts nothing more but compensations.
  ///
  /// Finished steps are compensated then; compensations are not cancelled. If every step finishes all the same, the
  /// group succeeds. After the end this has no effect.
  public func cancel() {
    run.cancel()
  }

  /// The outcome of the group, once its completion has run.
  ///
  /// Cancelling the task that awaits it neither cancels the group nor ends the wait.
  ///
  /// In an operation's block that holds a resource which a step needs, the wait ends with the error `wouldDeadlock`.
  /// It ends as soon as that step is the oldest that runs. The group goes on, and needs the block to end. Undetected
  /// waits are those of `DispatchHandle.result`.
  public var result: ActionGroupResult {
    get async { await run.awaitResult(in: DispatchContext.ofTask) }
  }

  /// Waits until the completion has run: `result`, for a statement that does not use it.
  @discardableResult
  public func ended() async -> ActionGroupResult {
    await result
  }

  /// Waits for the end, and throws the first error, in time: a store's own, `CancellationError` or `DispatchError`.
  @discardableResult
  public func get() async throws -> ActionGroupResult {
    try await result.get()
  }

  /// Calls a closure once the group has ended, after its completion, on the same thread.
  ///
  /// If the group has ended already, the closure is called at once on this thread.
  public func whenEnded(_ body: @escaping @Sendable (ActionGroupResult) -> Void) {
    run.whenEnded(body)
  }
}
