import Foundation

/// A running operation, as its block gets it; any code that has it can finish it, from any thread.
///
/// When the last reference to it is released and the operation was not finished, the operation fails
/// with `operationAbandoned`, and its dispatch ends. The same holds for an operation in another queue.
public final class RunningOperation<Model: Sendable, Action: ActionType>: @unchecked Sendable {
  // because `subject` changes only while there is one reference to the object
  @usableFromInline var subject: ActionOperation<Model, Action>?

  /// The operation itself.
  public var operation: ActionOperation<Model, Action> { subject.unsafelyUnwrapped }

  @usableFromInline
  init() {}

  deinit {
    subject?.abandon()
  }

  /// Makes one for an operation, or reuses the thread's spare one.
  @inlinable
  static func make(
    for operation: ActionOperation<Model, Action>, on thread: ThreadState
  ) -> RunningOperation {
    let spare = thread.takeSpareToken(operation.presentStore.unsafelyUnwrapped.operationType)
    let running = spare.map { unsafeDowncast($0, to: RunningOperation.self) } ?? RunningOperation()
    running.subject = operation
    return running
  }

  /// Abandons the operation as `deinit` does, and keeps this object as the thread's spare one.
  ///
  /// The caller has the only strong reference to it.
  @inlinable
  func recycle(on thread: ThreadState) {
    let operation = subject.unsafelyUnwrapped
    subject = nil
    operation.abandon()
    if hasNoWeakOrUnownedReferences(self) {
      thread.keepSpareToken(self, of: operation.presentStore.unsafelyUnwrapped.operationType)
    }
  }

  /// Whether it was cancelled; the block decides how to react.
  public var isCancelled: Bool { operation.isCancelled }

  /// Ends the operation as finished, once its block has returned.
  ///
  /// A second finish changes nothing, and is a warning.
  public func finish() {
    operation.finish()
  }

  /// Ends the operation as failed, or as cancelled for a `CancellationError`.
  public func finish(throwing error: any Error) {
    operation.finish(throwing: error)
  }

  /// Changes the store on behalf of the operation: one commit, of which the observers are
  /// notified before this returns, or later, as after `Store.updateModel`, but before the operation's end.
  ///
  /// From a callback, use this rather than `store.updateModel`: the change that observers get then
  /// names the action, and the operation does not end before they were notified. After the operation's
  /// end this changes nothing, and is a warning.
  ///
  /// - Returns: The closure's result; nil if the operation had ended.
  @discardableResult
  public func updateModel<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    try operation.update(body)
  }
}
