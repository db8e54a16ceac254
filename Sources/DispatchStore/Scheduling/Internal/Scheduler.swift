/// Where a dispatch runs its steps: the one seam through which every mode schedules work.
///
/// A scheduler decides when a dispatch is reached, and continues it when something happened elsewhere.
class Scheduler: @unchecked Sendable {
  // because a subclass says why
  /// The dispatcher that it belongs to, while it is busy.
  var dispatcher: Dispatcher? { nil }

  /// Whether stores that don't wait for each other run beside each other.
  var runsStoresConcurrently: Bool { false }

  /// Whether it runs on the main queue.
  var needsMainQueue: Bool { false }

  /// Whether no action may start now.
  var isSuspended: Bool { false }

  /// What messages call it.
  var description: String { fatalError("Scheduler is abstract.") }

  /// Takes a dispatch, to reach it in time; false where it is no longer there for any.
  func schedule(_ dispatch: Dispatch, for dispatcher: Dispatcher) -> Bool {
    fatalError("Scheduler is abstract.")
  }

  /// Continues the dispatch that was reached.
  func resume(_ step: @escaping @Sendable () -> Void) { fatalError("Scheduler is abstract.") }

  /// Reaches again a dispatch that was parked, now that it can run.
  func unpark(_ dispatch: Dispatch) { fatalError("Scheduler is abstract.") }

  /// The dispatch that was reached has ended, in a later step.
  func release(_ dispatch: Dispatch) {}

  /// Ends a dispatch that was cancelled while it waited.
  func endCancelled(_ dispatch: Dispatch, _ step: @escaping @Sendable () -> Void) { resume(step) }

  /// Runs a job of an `async` block.
  func run(_ job: UnownedJob, on executor: OperationExecutor) {
    fatalError("Scheduler is abstract.")
  }

  /// The dispatches that end before this one is reached.
  func dispatches(before dispatch: Dispatch) -> [Dispatch] { [] }
}
