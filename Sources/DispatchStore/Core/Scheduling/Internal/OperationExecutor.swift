import Foundation

/// The executor of one `async` block, which runs the block's jobs where the dispatch's scheduler runs them.
///
/// A block that runs in its caller's task needs an executor only for the main queue.
final class OperationExecutor: TaskExecutor, @unchecked Sendable {
  // because `context` is set before the block's task is made
  /// The scheduler; nil for an operation in a user's queue, whose jobs run on any thread.
  private let scheduler: Scheduler?
  /// The user's queue and the operation.
  private let own: (queue: OperationQueue?, operation: AnyObject)?
  /// The context of the block.
  var context: DispatchContext?
  /// The block's simulated world; kept here, since a thread outside of the simulation may resume a task.
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
      JobInbox.ofProcess.push(job, for: self)
    }
  }

  /// Runs a job on a thread outside of the cooperative pool.
  func runBesideTasks(_ job: UnownedJob) {
    let thread = ThreadState.current
    let former = thread.fields.pointee.runsBlockJob
    thread.fields.pointee.runsBlockJob = true
    defer { thread.fields.pointee.runsBlockJob = former }
    run(job)
  }

  /// Runs a job in the context of its block, which knows the caller.
  ///
  /// The context on the thread's stack does not enclose the job: the thread may be that of a `.sync` caller.
  func run(_ job: UnownedJob) {
    let thread = ThreadState.current
    thread.within(context) {
      guard let own else { return job.runSynchronously(on: asUnownedTaskExecutor()) }
      let former = thread.fields.pointee.own
      thread.fields.pointee.own = own
      defer { thread.fields.pointee.own = former }
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
