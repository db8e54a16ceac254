/// Where a dispatch runs its steps: the one seam through which every mode schedules work.
///
/// A venue decides when a dispatch is reached, and continues it when something happened elsewhere.
protocol Venue: AnyObject, Sendable {
  /// Whether stores that don't wait for each other run beside each other.
  var runsSideBySide: Bool { get }

  /// Whether no action may start now.
  var isSuspended: Bool { get }

  /// Takes a dispatch, to reach it in time.
  func take(_ dispatch: Dispatch)

  /// Continues the dispatch that was reached.
  func post(_ step: @escaping @Sendable () -> Void)

  /// Reaches again a dispatch that was parked, now that it can run.
  func resume(_ dispatch: Dispatch)

  /// The dispatch that was reached has ended.
  func release(_ dispatch: Dispatch)

  /// Ends a dispatch that was cancelled while it waited.
  func endCancelled(_ dispatch: Dispatch, _ step: @escaping @Sendable () -> Void)

  /// Runs a job of an `async` block.
  func run(_ job: UnownedJob, on executor: OperationExecutor)

  /// The dispatches that end before this one is reached.
  func dispatches(before dispatch: Dispatch) -> [Dispatch]

  /// Whether it runs on the main queue.
  var needsMainQueue: Bool { get }

  /// What messages call it.
  var description: String { get }
}
