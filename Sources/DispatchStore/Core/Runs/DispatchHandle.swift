/// A dispatch, in flight or ended: awaited, cancelled, or named in a later one's `after`.
///
/// Releasing it does not cancel the dispatch. It may be used from any thread.
public struct DispatchHandle: Sendable {
  private enum Subject: Sendable {
    case dispatch(Dispatch)
    /// Dispatches that ended before `dispatch` returned, without a record: their only store, or all of
    /// their stores, have finished.
    case finishedOne(DispatchID, identifier: String)
    case finished(DispatchID, identifiers: [String])
  }

  private let subject: Subject

  @inline(__always)
  init(_ dispatch: Dispatch) {
    subject = .dispatch(dispatch)
  }

  @inline(__always)
  init(finished id: DispatchID, _ route: borrowing Route) {
    if let identifier = route.onlyIdentifier {
      subject = .finishedOne(id, identifier: identifier)
    } else {
      subject = .finished(id, identifiers: route.identifiers)
    }
  }

  /// The record; nil if the dispatch ended without one, so that there is nothing to wait for.
  var dispatch: Dispatch? {
    if case .dispatch(let dispatch) = subject { dispatch } else { nil }
  }

  /// The dispatch's identifier; for a sequence, the parent of its actions.
  public var dispatchID: DispatchID {
    switch subject {
    case .dispatch(let dispatch): dispatch.id
    case .finishedOne(let id, _), .finished(let id, _): id
    }
  }

  /// Whether the dispatch has ended: its completion has run.
  public var hasEnded: Bool {
    dispatch?.hasEnded ?? true
  }

  /// Whether the stores have ended, too.
  ///
  /// That is later than the end of the dispatch if it has ended at its deadline.
  package var isOver: Bool { dispatch?.isOver ?? true }

  /// How the dispatch ended; nil until its completion has run.
  ///
  /// With `.sync` the dispatch has ended when `dispatch` returns, unless an observer dispatched it and
  /// its commit was deferred to another thread.
  public var resultIfEnded: DispatchResult? {
    switch subject {
    case .dispatch(let dispatch): dispatch.result
    case .finishedOne(let id, let identifier):
      DispatchResult(dispatchID: id, identifiers: [identifier])
    case .finished(let id, let identifiers):
      DispatchResult(dispatchID: id, identifiers: identifiers)
    }
  }

  /// Cancels the dispatch: stores that have not started do not run.
  ///
  /// A waiting dispatch ends promptly as cancelled, with its completion on a thread of the library. A running
  /// operation has `isCancelled` set, and decides how to end. After the end, `cancel()` has no effect.
  ///
  /// Stores registered with `runsRegardless` still start once any store of the dispatch has started. One that starts
  /// after this call is not cancelled. An `async` block of theirs that runs already is cancelled as any other.
  public func cancel() {
    dispatch?.cancel()
  }

  /// How the dispatch ended, once its completion has run.
  ///
  /// Cancelling the task that awaits this neither cancels the dispatch nor ends the wait. If the dispatch waits for
  /// the operation that awaits it, the wait ends at once, with the error `wouldDeadlock`.
  /// `DispatchError.Code.wouldDeadlock` says which deadlocks are not detected. A task for which no operation waits
  /// may await any dispatch: for example one made by `Task { … }` or `Task.immediate { … }` in a block.
  public var result: DispatchResult {
    get async {
      guard let dispatch else { return resultIfEnded! }
      return await dispatch.awaitResult(in: DispatchContext.ofTask)
    }
  }

  /// Waits until the completion has run.
  ///
  /// Use it instead of `result` if you do not need the result.
  @discardableResult
  public func ended() async -> DispatchResult {
    await result
  }

  /// Waits until the completion has run.
  ///
  /// Throws the first error: a store's own, `CancellationError` or `DispatchError`.
  @discardableResult
  public func get() async throws -> DispatchResult {
    try await result.get()
  }
}

extension DispatchHandle: Hashable {
  /// Whether both handles stand for the same dispatch.
  public static func == (lhs: DispatchHandle, rhs: DispatchHandle) -> Bool {
    // A group in a block has the identifier of the block's dispatch, which is the parent of its steps.
    if let left = lhs.dispatch, let right = rhs.dispatch { return left === right }
    return lhs.dispatchID == rhs.dispatchID
  }

  /// Hashes the dispatch's identity.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(dispatchID)
  }
}

extension Dispatch {
  /// - Parameter context: The context of the block that waits for the task.
  fileprivate func awaitResult(in context: DispatchContext?) async -> DispatchResult {
    if let result { return result }
    let wait: WaitGraph.Wait?
    do {
      wait = try context.map { context throws(DispatchError) in
        try WaitGraph.begin(context, for: .dispatch(self))
      }
    } catch {
      return DispatchResult(dispatchID: id, error: error)
    }
    // A thread that blocks until this task resumes may wait for that queue.
    let queue = context == nil ? nil : schedulerForWaits.sharedQueue
    queue?.beginWait()
    defer { queue?.endWait() }
    await suspendUntilEnd()
    if let wait { WaitGraph.end(wait) }
    // Read under the lock, not passed through the continuation: Thread Sanitizer understands the lock.
    return result!
  }

  /// Suspends the current task until the end of the dispatch.
  nonisolated(nonsending) func suspendUntilEnd() async {
    VirtualSleeps.ofTask?.begin(awaiting: self)
    await TaskWait.suspend { whenEnded($0) }
  }
}
