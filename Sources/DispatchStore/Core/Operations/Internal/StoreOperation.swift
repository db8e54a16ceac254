/// An operation as the run of its store sees it: without its generic types.
@usableFromInline
protocol StoreOperation: AnyObject {
  /// Assigns it to a store run, after it was claimed; if it is not ready, it calls back once it is.
  func enter(_ storeRun: StoreRun) -> StoreRunStart

  /// Assigns it to a store run, whose `operationEnded` it calls later; returns the outcome if it has ended.
  func join(_ storeRun: StoreRun) -> StoreOutcome?

  /// Calls its block, or ends at once if it was finished or cancelled before.
  func run()

  /// Whether its block was called and it has not ended.
  var isExecuting: Bool { get }

  /// Cancels it: before the start it never runs, and afterwards its block sees that.
  func cancel()
}

/// The result of entering an operation for a store run.
@usableFromInline
enum StoreRunStart {
  /// The operation had ended before.
  case ended(StoreOutcome)
  /// The dependencies have not finished; `becameReady` follows.
  case waiting
  /// The operation may run.
  case ready
}
