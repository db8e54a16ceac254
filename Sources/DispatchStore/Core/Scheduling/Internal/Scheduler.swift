/// Runs the steps of dispatches: the one seam through which every mode schedules work.
///
/// A scheduler decides when a dispatch starts, and runs its later steps.
class Scheduler: @unchecked Sendable {
  // because it stores nothing; each subclass says why
  /// The dispatcher that it belongs to, while it is busy.
  var dispatcher: Dispatcher? { nil }

  /// The pool that runs its jobs; nil on the caller's thread.
  var workers: ConcurrentPool? { nil }

  /// Whether stores that don't wait for each other run concurrently.
  var runsStoresConcurrently: Bool { false }

  /// Whether it is the task of a dispatch's caller.
  var isTask: Bool { false }

  /// It as such a task; nil where it is none.
  final var asTask: TaskScheduler? {
    isTask ? unsafeDowncast(self, to: TaskScheduler.self) : nil
  }

  /// Whether `async` blocks run on the thread that runs steps, or begin there.
  var runsBlocksInSteps: Bool { false }

  /// Where its dispatches have their turn: another one for a task.
  var place: Scheduler { self }

  /// Whether it runs on the main queue.
  var needsMainQueue: Bool { false }

  /// The queue that gives it threads.
  var sharedQueue: SharedQueue? { nil }

  /// Whether it is a named lane that accepts no dispatch any longer.
  var isRetired: Bool { false }

  /// Whether no action may start now.
  var isSuspended: Bool { false }

  /// What messages call it.
  var description: String { fatalError("Scheduler is abstract.") }

  /// Accepts a dispatch, to start it later; false where it accepts none any longer.
  func schedule(_ dispatch: Dispatch, for dispatcher: Dispatcher) -> Bool {
    fatalError("Scheduler is abstract.")
  }

  /// A dispatch of another priority than the normal one is about to be scheduled.
  func expectPriority() {}

  /// Runs a later step of a dispatch that was started.
  func resume(_ step: @escaping @Sendable () -> Void) { fatalError("Scheduler is abstract.") }

  /// The same for a step that starts the action: suspension holds it back.
  func resumeStart(_ step: @escaping @Sendable () -> Void) { resume(step) }

  /// Starts a parked dispatch again, now that it can run.
  final func unpark(_ dispatch: Dispatch) { unpark(dispatch, for: nil) }

  /// Starts a parked dispatch again, and keeps the dispatcher alive as long as this is busy.
  func unpark(_ dispatch: Dispatch, for dispatcher: Dispatcher?) {
    fatalError("Scheduler is abstract.")
  }

  /// The dispatch that was started has ended in a later step.
  func release(_ dispatch: Dispatch) {}

  /// The same for one that was parked, by a step.
  func releaseParked(_ dispatch: Dispatch) { resume { self.release(dispatch) } }

  /// Runs the step that ends a dispatch cancelled while it waited.
  func endCancelled(_ dispatch: Dispatch, _ step: @escaping @Sendable () -> Void) { resume(step) }

  /// A dispatch that waits there has ended: its memory is to be released, in whose turn or before.
  func noteSkipped() {}

  /// Runs a job of an `async` block.
  func run(_ job: UnownedJob, on executor: OperationExecutor) {
    fatalError("Scheduler is abstract.")
  }

  // MARK: Tasks that run their dispatches

  /// Acquires it for the calling task, whose dispatch runs at once; false where that has to wait.
  func acquire() -> Bool { !isSuspended }

  /// The task that has it has made a record.
  func hold(_ dispatch: Dispatch) {}

  /// Releases it after the dispatch of a task.
  ///
  /// - Parameter dispatch: The dispatch that holds it; nil where the task has made no record.
  func release(_ dispatch: Dispatch?, ofTaskOf dispatcher: Dispatcher) {}

  // MARK: What the wait graph has to know

  /// A dispatch that waits for these, or is to pass a gate, is about to be scheduled.
  func noteHeldBack(_ dispatch: Dispatch, by before: [Dispatch], isGated: Bool) {}

  /// What has to end before a dispatch that waits here can start.
  func precedence(of dispatch: Dispatch) -> LanePrecedence { LanePrecedence() }

  /// The dispatches before it that are held back by others, or by their gates.
  func heldBack(before dispatch: Dispatch) -> [Dispatch] { [] }

  /// Whether tasks have their turn before a dispatch; linear.
  func hasTask(before dispatch: Dispatch) -> Bool { false }

  /// The dispatch that has started here, and those that wait for their turn; linear.
  var order: LaneOrder { LaneOrder() }

  /// Whether dispatches wait for the one that has started.
  var hasWaitingDispatches: Bool { false }
}

/// What has to end before a dispatch can start in its lane.
struct LanePrecedence {
  /// The dispatch that has started.
  var holder: Dispatch?
  /// What those in the inbox wait for, also those that are behind it: only a walk distinguishes them.
  var awaited: [Dispatch] = []
  /// Those in the inbox that have to pass a gate in their turn, likewise.
  var gated: [Dispatch] = []
}

/// Who has a lane, and who waits for it, as a diagnosis shows it.
struct LaneOrder {
  /// The dispatch that has started: where nothing else keeps it, only what identifies it may be read, since its step
  /// may be about to end it.
  var holder: Dispatch?
  /// In the order of their turns, if nothing else comes.
  var waiting: [Dispatch] = []
}
