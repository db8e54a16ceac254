/// An operation of the library, as the graph of waits sees it: without its generic types.
protocol DependentOperation: AnyObject {
  var hasEnded: Bool { get }
  /// Whether a search, or a dependent operation that is about to wait, has read its standing.
  var isReached: Bool { get }
  /// The present activity, for diagnoses.
  var activity: OperationActivity { get }
  /// Returns its dispatch and its dependencies, and marks it as reached; nil if it belongs to no dispatch.
  func standing() -> OperationStanding?
  /// Sets the operations of the library for which it waits.
  func setAwaited(_ dependencies: [any DependentOperation])
}

/// The activity of an operation that has not ended.
enum OperationActivity {
  /// The operation has not started.
  case pending
  /// The operation's block, or an update through the operation, runs on a thread.
  case block
  /// The operation's `async` block runs.
  case task
  /// The operation's block has returned, and `finish` was not called.
  case callback
}

/// A dispatch's operation while it has not ended.
struct OperationStanding {
  let dispatch: Dispatch
  /// The operation's part of a round; nil in an inline run.
  let part: AnyObject?
  /// Whether the operation has not started.
  let isPending: Bool
  /// Whether the operation can't end unless steps of its dispatch run: to start it, or its `async` block.
  let needsSteps: Bool
  /// The operations of the library on which it depends, directly or through others.
  let dependencies: [any DependentOperation]
}
