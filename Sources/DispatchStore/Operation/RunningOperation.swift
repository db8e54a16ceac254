import Foundation

/// A running operation, as its block sees it: whoever holds it can finish it, from any thread.
///
/// When the last reference to it is released and the operation was not finished, the operation fails
/// with `operationAbandoned`, and its lane goes on. That holds in a queue of the user's own too.
public final class RunningOperation<Model: Sendable, Action: ActionType>: @unchecked Sendable {
  // because `subject` changes only while nobody else refers to the object
  @usableFromInline var subject: ActionOperation<Model, Action>?

  /// The operation itself.
  public var operation: ActionOperation<Model, Action> { subject.unsafelyUnwrapped }

  @usableFromInline
  init() {}

  deinit {
    subject?.abandon()
  }

  /// Makes one for an operation, of the thread's spare one where there is one.
  @inlinable
  static func make(
    for operation: ActionOperation<Model, Action>, on thread: ThreadState
  ) -> RunningOperation {
    let spare = thread.takeSpareToken(operation.subject.pointee.store.operationType)
    let running = spare.map { unsafeDowncast($0, to: RunningOperation.self) } ?? RunningOperation()
    running.subject = operation
    return running
  }

  /// Does what its release does, and keeps it for the next one of its kind.
  ///
  /// The caller holds the only reference to it.
  @inlinable
  func recycle(on thread: ThreadState) {
    let operation = subject.unsafelyUnwrapped
    subject = nil
    operation.abandon()
    if ThreadState.isUnseen(self) {
      thread.keepSpareToken(self, of: operation.subject.pointee.store.operationType)
    }
  }

  /// The action that it answers.
  public var action: Action { operation.action }

  /// The store whose reducer made it.
  public var store: Store<Model, Action> { operation.store }

  /// Whether it was cancelled: the block decides what follows from that.
  public var isCancelled: Bool { operation.isCancelled }

  /// Ends the operation as finished, once its block has returned.
  ///
  /// A second finish is harmless, and is reported as an incident.
  public func finish() {
    operation.finish()
  }

  /// Ends the operation as failed, or as cancelled for a `CancellationError`.
  public func finish(throwing error: any Error) {
    operation.finish(throwing: error)
  }

  /// Changes the store on behalf of the operation: one commit, told before this returns.
  ///
  /// From a callback, use this rather than `store.updateModel`: observers then hear of the action,
  /// and the operation does not end before they have. After its end nothing is changed, which is
  /// reported as an incident.
  ///
  /// - Returns: What the closure returned; nil where the operation had ended.
  @discardableResult
  public func updateModel<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    try operation.update(body)
  }
}
