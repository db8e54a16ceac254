import Foundation

/// The executor of one `async` block: runs its jobs where the dispatch's scheduler runs them.
///
/// A block that runs in its caller's task needs none, but for the main queue.
final class OperationExecutor: TaskExecutor, @unchecked Sendable {
  // because `context` is set before the block's task is made
  /// Nil for an operation in a user's queue: its jobs run on any thread.
  private let scheduler: Scheduler?
  /// That queue, and the operation.
  private let own: (queue: OperationQueue?, operation: AnyObject)?
  /// The context of the block.
  var context: DispatchContext?
  /// Its simulated world: the thread that resumes a task may be outside.
  private let world = ThreadState.current.simulated?.world

  init(_ scheduler: Scheduler) {
    self.scheduler = scheduler
    own = nil
  }

  init(of operation: AnyObject, in queue: OperationQueue?) {
    scheduler = nil
    own = (queue, operation)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if let scheduler { scheduler.run(job, on: self) } else { runAnywhere(job) }
  }

  /// Runs a job on any thread of the system, or of the simulated world.
  func runAnywhere(_ job: UnownedJob) {
    if let world {
      world.run(.job) { self.runBesideTasks(job) }
    } else {
      JobInbox.ofProcess.push(job, for: self, on: .current)
    }
  }

  /// On a thread that is not one of the system's for tasks.
  func runBesideTasks(_ job: UnownedJob) {
    let thread = ThreadState.current
    let former = thread.runsBlockJob
    thread.runsBlockJob = true
    defer { thread.runsBlockJob = former }
    run(job)
  }

  /// What is on the thread's stack is not around the job, which a `.sync` caller's thread may run: its context
  /// knows the caller.
  func run(_ job: UnownedJob) {
    let thread = ThreadState.current
    let (outer, run) = (thread.context, thread.run)
    (thread.context, thread.run) = (context, nil)
    defer { (thread.context, thread.run) = (outer, run) }
    guard let own else { return job.runSynchronously(on: asUnownedTaskExecutor()) }
    let former = (thread.operationQueue, thread.ownOperation)
    (thread.operationQueue, thread.ownOperation) = (own.queue, own.operation)
    defer { (thread.operationQueue, thread.ownOperation) = former }
    job.runSynchronously(on: asUnownedTaskExecutor())
  }
}
