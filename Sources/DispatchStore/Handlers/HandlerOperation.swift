/// A running operation, as the block of an `Operating` handler gets it: as `RunningOperation`, for the handler's part.
///
/// Any code that has it can finish it, from any thread. When the last reference to it is released and the operation was
/// not finished, the operation fails with `operationAbandoned`, and its dispatch ends.
public struct HandlerOperation<Model: Sendable>: Sendable {
  private let running: any HandlerRunning
  private let path: PartPath<Model>

  init(_ running: any HandlerRunning, _ part: StorePart<Model, HandledAction>) {
    (self.running, path) = (running, part.path)
  }

  /// Whether it was cancelled; the block decides how to react.
  public var isCancelled: Bool { running.isCancelled }

  /// Ends the operation as finished, once its block has returned.
  ///
  /// A second finish changes nothing, and is an incident.
  public func finish() {
    running.finish()
  }

  /// Ends the operation as failed, or as cancelled for a `CancellationError`.
  public func finish(throwing error: any Error) {
    running.finish(throwing: error)
  }

  /// Changes the part on behalf of the operation: one commit of the store.
  ///
  /// As `RunningOperation.updateModel(_:)`: from a callback, use this rather than the child store's.
  ///
  /// - Returns: The closure's result; nil, and there is no commit, where the operation had ended, or the part is gone.
  @discardableResult
  public func updateModel<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    try path.update(by: running.update, body)
  }
}

/// A running operation without the types of its store.
protocol HandlerRunning: AnyObject, Sendable {
  var isCancelled: Bool { get }
  func finish()
  func finish(throwing error: any Error)
  /// Changes the model, unless the closure says that it has found nothing to change: then there is no commit.
  func update(_ body: (UnsafeMutableRawPointer) -> Bool)
}

extension RunningOperation: HandlerRunning {
  func update(_ body: (UnsafeMutableRawPointer) -> Bool) {
    let reducer = store.reducer
    operation.update(by: reducer) { PartialReduction.change(&$0, by: reducer, body) }
  }
}
