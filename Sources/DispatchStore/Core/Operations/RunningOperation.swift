import Foundation

/// A running operation, as its block gets it; any code that has it can finish it, from any thread.
///
/// When the last reference to it is released and the operation was not finished, the operation fails
/// with `operationAbandoned`, and its dispatch ends. The same holds for an operation in another queue.
public final class RunningOperation<Model: Sendable, Action: ActionType>: Sendable {
  /// The operation itself.
  public let operation: ActionOperation<Model, Action>

  @usableFromInline
  init(_ operation: ActionOperation<Model, Action>) {
    self.operation = operation
  }

  deinit {
    operation.abandon()
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
