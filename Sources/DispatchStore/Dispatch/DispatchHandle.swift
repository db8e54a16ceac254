/// A dispatch under way or ended: to be awaited, cancelled, or waited for by later dispatches.
///
/// Dropping it cancels nothing. It may be used from any thread.
public struct DispatchHandle: Sendable {
  private enum Subject: Sendable {
    case dispatch(Dispatch)
    /// Those that ended before anybody had the handle: their store, or all their stores, have finished.
    case finishedOne(TransactionID, identifier: String)
    case finished(TransactionID, identifiers: [String])
  }

  private let subject: Subject

  @inline(__always)
  init(_ dispatch: Dispatch) {
    subject = .dispatch(dispatch)
  }

  @inline(__always)
  init(finished id: TransactionID, _ route: borrowing Route) {
    if let identifier = route.onlyIdentifier {
      subject = .finishedOne(id, identifier: identifier)
    } else {
      subject = .finished(id, identifiers: route.identifiers)
    }
  }

  /// The dispatch; nil where it has ended, so that nobody can wait for it.
  var dispatch: Dispatch? {
    if case .dispatch(let dispatch) = subject { dispatch } else { nil }
  }

  /// The dispatch's transaction; of several actions, the one that the actions' own have as parent.
  public var transaction: TransactionID {
    switch subject {
    case .dispatch(let dispatch): dispatch.id
    case .finishedOne(let id, _), .finished(let id, _): id
    }
  }

  /// Whether it has ended: its completion has run.
  public var hasEnded: Bool {
    dispatch?.hasEnded ?? true
  }

  /// How the dispatch ended; nil until its completion has run.
  ///
  /// With `.sync` it has ended when `dispatch` returns, but where an observer dispatched it and the
  /// telling of its change was left to another thread.
  public var resultIfEnded: DispatchResult? {
    switch subject {
    case .dispatch(let dispatch): dispatch.result
    case .finishedOne(let id, let identifier):
      DispatchResult(transaction: id, identifiers: [identifier])
    case .finished(let id, let identifiers):
      DispatchResult(transaction: id, identifiers: identifiers)
    }
  }

  /// The first error of one that has ended, as its result has it; nil on success.
  ///
  /// Cheaper than the result, where nothing else is asked for.
  public var errorIfEnded: (any Error)? {
    dispatch?.result?.error
  }

  /// Cancels what has not started, and tells what has.
  ///
  /// A dispatch that waits ends promptly as cancelled, its completion on the concurrent queue. An
  /// operation that has started decides for itself. After the end it does nothing.
  public func cancel() {
    dispatch?.cancel()
  }

  /// How the dispatch ended, once its completion has run.
  ///
  /// Cancelling the task that awaits it neither cancels the dispatch nor ends the wait. Inside an
  /// operation that holds what the dispatch needs, the error is `wouldDeadlock`, at once.
  public var result: DispatchResult {
    get async {
      guard let dispatch else { return resultIfEnded! }
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
    lhs.transaction == rhs.transaction
  }

  /// Hashes the dispatch's identity.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(transaction)
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
    if !ShortWait.for({ hasEnded }) {
      await withUnsafeContinuation { continuation in
        whenEnded { continuation.resume() }
      }
    }
    if let wait { WaitGraph.end(wait) }
    // Read under the lock, not passed through the continuation: Thread Sanitizer follows the lock.
    return result!
  }
}
