/// Runs the steps of dispatches: the one seam through which every mode schedules work.
///
/// A scheduler decides when a dispatch starts, and runs its later steps.
@usableFromInline
class Scheduler: @unchecked Sendable {
  // because it stores nothing; each subclass says why
  /// The scheduler that does whatever this one does not do itself; nil if there is none.
  var inner: Scheduler? { nil }

  /// The dispatcher that this scheduler belongs to, while the scheduler is busy.
  var dispatcher: Dispatcher? { nil }

  /// The pool that runs the scheduler's jobs; nil on the caller's thread.
  var workers: ConcurrentPool? { inner?.workers }

  /// Whether stores that don't wait for each other run concurrently.
  var runsStoresConcurrently: Bool { false }

  /// The scheduler as the task of a dispatch's caller; nil if it is none.
  var asTask: TaskScheduler? { nil }

  /// Whether this is the task of a dispatch's caller; asked often, so without a reference.
  var isTask: Bool { false }

  /// Whether `async` blocks run on the thread that runs steps, or begin there.
  var runsBlocksInSteps: Bool { false }

  /// The scheduler in which dispatches have their turn; for a task, the lane or the pool.
  var place: Scheduler { self }

  /// Whether the scheduler runs on the main queue.
  var needsMainQueue: Bool { inner?.needsMainQueue ?? false }

  /// The queue that provides the scheduler's threads.
  final var sharedQueue: SharedQueue? { workers?.shared }

  /// Whether this is a named lane that no longer accepts dispatches.
  var isRetired: Bool { false }

  /// Whether no action may start now.
  var isSuspended: Bool { inner?.isSuspended ?? false }

  /// The scheduler's name in messages.
  var description: String { fatalError("Scheduler is abstract.") }

  /// Accepts a dispatch, to start it later; returns false if the scheduler no longer accepts any.
  func schedule(_ dispatch: Dispatch, for dispatcher: Dispatcher) -> Bool {
    required.schedule(dispatch, for: dispatcher)
  }

  /// Prepares for a dispatch whose priority is not normal.
  func expectPriority() {}

  /// Runs a later step of a dispatch that was started.
  func resume(_ step: @escaping @Sendable () -> Void) { required.resume(step) }

  /// Runs a step that ends a dispatch, and begins no store.
  func resumeEnd(_ end: @escaping @Sendable () -> Void) { resume(end) }

  /// Runs a step that starts the action of a dispatch; suspension holds it back.
  ///
  /// - Parameter claim: Returns the step once it may run; nil if its dispatch no longer needs it, and has perhaps left
  ///   the scheduler.
  func resumeStart(_ claim: @escaping @Sendable () -> (@Sendable () -> Void)?) {
    let start: @Sendable () -> Void = { if let step = claim() { self.resume(step) } }
    guard !needsMainQueue, let workers else { return start() }
    workers.submit(start: .step(start))
  }

  /// Starts a parked dispatch again, now that it can run.
  final func unpark(_ dispatch: Dispatch) { unpark(dispatch, for: nil) }

  /// Starts a parked dispatch again, and keeps the dispatcher alive as long as the scheduler is busy.
  func unpark(_ dispatch: Dispatch, for dispatcher: Dispatcher?) {
    required.unpark(dispatch, for: dispatcher)
  }

  /// Releases the scheduler from a dispatch that has ended in a later step.
  func release(_ dispatch: Dispatch) { inner?.release(dispatch) }

  /// Releases the places beside its own one, of a dispatch whose stores have ended.
  func leaveFurtherPlaces() { inner?.leaveFurtherPlaces() }

  /// Releases the scheduler, in a step, from a parked dispatch that has ended.
  func releaseParked(_ dispatch: Dispatch) { resume { self.release(dispatch) } }

  /// Runs the step that ends a dispatch cancelled while it waited.
  func endCancelled(_ step: @escaping @Sendable () -> Void) { resume(step) }

  /// Notes that a waiting dispatch has ended, so that its memory is released in its turn or before.
  func noteSkipped() { inner?.noteSkipped() }

  /// Runs a job of an `async` block.
  func run(_ job: UnownedJob, on executor: OperationExecutor) {
    required.run(job, on: executor)
  }

  // MARK: Tasks that run their dispatches

  /// Acquires the scheduler for the calling task, whose dispatch runs at once; returns false if the task has to wait.
  func acquire() -> Bool { !isSuspended }

  /// Notes that the task that has acquired the scheduler has made a record.
  func hold(_ dispatch: Dispatch) {}

  /// Releases the scheduler after the dispatch of a task.
  ///
  /// - Parameter dispatch: The dispatch that holds the scheduler; nil if the task has made no record.
  func release(_ dispatch: Dispatch?, ofTaskOf dispatcher: Dispatcher) {}

  // MARK: For the wait graph

  /// The lanes in which a dispatch has its turn here, each with the entry that waits there for it.
  func turns(of dispatch: Dispatch) -> [(lane: Lane, entry: Dispatch)] { [] }

  /// Notes that a dispatch that waits for these, or is to pass a gate, is about to be scheduled.
  func noteHeldBack(_ dispatch: Dispatch) { inner?.noteHeldBack(dispatch) }

  /// Whether dispatches wait for the one that has started.
  var hasWaitingDispatches: Bool { inner?.hasWaitingDispatches ?? false }

  /// The inner scheduler; without one, stops the program, since a dispatch would wait for ever, without a trace.
  private var required: Scheduler {
    if let inner { return inner }
    stopProgram(
      """
      A step was left to a dispatch that has no scheduler, so that nothing would run it. This is a defect of \
      DispatchStore: please report it with this backtrace.
      """)
  }
}

/// The dispatches that have to end before a dispatch can start in its lane.
struct LanePrecedence {
  /// The dispatch that has started.
  var holder: Dispatch?
  /// The dispatches for which others in the inbox wait, even others behind the one that asks: only a walk tells.
  var awaited: [Dispatch] = []
  /// The dispatches in the inbox that have to pass a gate in their turn, even those behind the one that asks.
  ///
  /// If exact: those before it that have to pass a gate or wait for others.
  var gated: [Dispatch] = []
}

/// The holder of a lane and its waiting dispatches, as a diagnosis shows them.
struct LaneOrder {
  /// The dispatch that has started.
  ///
  /// If nothing else retains it, only its identity may be read, since its step may be about to end it.
  var holder: Dispatch?
  /// The waiting dispatches in the order of their turns, if nothing else comes.
  var waiting: [Dispatch] = []
}
