/// A running operation, as the block of an `Operating` handler receives it: a `RunningOperation` for the handler's
/// part.
///
/// You can finish it from any thread. If the last reference is released before it was finished, the operation fails
/// with `operationAbandoned`, and its dispatch ends.
public struct HandlerOperation<Model: Sendable>: Sendable {
  private let running: any HandlerRunning
  private let path: PartPath<Model>

  init(_ running: any HandlerRunning, _ part: StorePart<Model, HandledAction>) {
    (self.running, path) = (running, part.path)
  }

  /// Whether the operation was cancelled.
  ///
  /// The block decides how to react.
  public var isCancelled: Bool { running.isCancelled }

  /// Ends the operation as finished, once its block has returned.
  ///
  /// A second call changes nothing, and is reported as a warning.
  public func finish() {
    running.finish()
  }

  /// Ends the operation as failed, or as cancelled if the error is a `CancellationError`.
  public func finish(throwing error: any Error) {
    running.finish(throwing: error)
  }

  /// Changes the part on behalf of the operation, in one commit of the store.
  ///
  /// From a callback, use this rather than the child store's `updateModel`, as with
  /// `RunningOperation.updateModel(_:)`.
  ///
  /// - Returns: The closure's result. Nil, without a commit, if the operation had ended or the part is absent.
  @discardableResult
  public func updateModel<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    try path.update(by: running.update, body)
  }
}

/// A `RunningOperation` without its generic types.
protocol HandlerRunning: AnyObject, Sendable {
  var isCancelled: Bool { get }
  func finish()
  func finish(throwing error: any Error)
  /// Changes the model.
  ///
  /// If the closure returns false, nothing has changed and there is no commit.
  func update(_ body: (UnsafeMutableRawPointer) -> Bool)
}

extension RunningOperation: HandlerRunning {
  func update(_ body: (UnsafeMutableRawPointer) -> Bool) {
    let reducer = store.reducer
    operation.update(by: reducer) { PartialReduction.change(&$0, by: reducer, body) }
  }
}
