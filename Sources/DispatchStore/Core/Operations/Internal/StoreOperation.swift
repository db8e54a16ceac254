/// An operation as the run of its store sees it: without its generic types.
@usableFromInline
protocol StoreOperation: AnyObject {
  /// Assigns it, once claimed, to a store run, which runs it now, or is called back when it is ready.
  ///
  /// - Returns: The outcome, if it has ended before.
  func enter(_ storeRun: StoreRun) -> StoreOutcome?

  /// Assigns it to a store run, whose `operationEnded` it calls later; returns the outcome if it has ended.
  func join(_ storeRun: StoreRun) -> StoreOutcome?

  /// Calls its block, or ends at once if it was finished or cancelled before.
  func run()

  /// Whether its block was called and it has not ended.
  var isExecuting: Bool { get }

  /// Cancels it: before the start it never runs, and afterwards its block sees that.
  func cancel()
}
