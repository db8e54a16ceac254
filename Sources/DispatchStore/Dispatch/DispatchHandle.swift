/// A dispatch under way or ended: to be awaited, cancelled, or waited for by later dispatches.
///
/// Dropping it cancels nothing. It may be used from any thread.
public struct DispatchHandle: Sendable {
  let dispatch: Dispatch

  /// The dispatch's transaction; of several actions, the one that the actions' own have as parent.
  public var transaction: TransactionID { dispatch.id }

  /// Whether it has ended: its completion has run.
  public var hasEnded: Bool { dispatch.result != nil }

  /// Cancels what has not started, and tells what has.
  ///
  /// A dispatch that waits ends promptly as cancelled, its completion on the concurrent queue. An
  /// operation that has started decides for itself. After the end it does nothing.
  public func cancel() {
    dispatch.cancel()
  }

  /// How the dispatch ended, once its completion has run.
  ///
  /// Cancelling the task that awaits it neither cancels the dispatch nor ends the wait. Inside an
  /// operation that holds what the dispatch needs, the error is `wouldDeadlock`, at once.
  public var result: DispatchResult {
    get async {
      let thread = ThreadState.current
      let blocked = DispatchContext.blocked(on: thread)
      return await dispatch.awaitResult(blocking: blocked)
    }
  }

  /// Waits for the end; throws the first error: a store's own, `CancellationError` or `DispatchError`.
  @discardableResult
  public func get() async throws -> DispatchResult {
    try await result.get()
  }
}

extension DispatchHandle: Hashable {
  /// Whether both stand for the same dispatch.
  public static func == (lhs: DispatchHandle, rhs: DispatchHandle) -> Bool {
    lhs.dispatch === rhs.dispatch
  }

  /// Hashes the dispatch's identity.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(dispatch))
  }
}

extension Dispatch {
  fileprivate func awaitResult(blocking blocked: DispatchContext?) async -> DispatchResult {
    if let result { return result }
    let wait: WaitGraph.Wait?
    do {
      wait = try blocked.map { context throws(DispatchError) in
        try WaitGraph.begin(context, on: self)
      }
    } catch {
      return DispatchResult(transaction: id, error: error)
    }
    await withUnsafeContinuation { continuation in
      whenEnded { continuation.resume() }
    }
    if let wait { WaitGraph.end(wait) }
    // Read under the lock, not passed through the continuation: Thread Sanitizer follows the lock.
    return result!
  }
}
