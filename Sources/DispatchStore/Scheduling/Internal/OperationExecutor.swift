import Dispatch

/// The executor of one `async` block: runs its jobs where the dispatch's mode wants them.
///
/// A task made inside the block without structure leaves it; that tells the two apart.
final class OperationExecutor: TaskExecutor {
  private let scheduler: Scheduler
  /// The simulated world that it is of: what resumes a task may be outside.
  private let world = ThreadState.current.simulated?.world

  init(_ scheduler: Scheduler) {
    self.scheduler = scheduler
  }

  func enqueue(_ job: consuming ExecutorJob) {
    scheduler.run(UnownedJob(job), on: self)
  }

  /// Runs a job on any thread of the system, or of the simulated world.
  func runAnywhere(_ job: UnownedJob) {
    if let world {
      world.run(.job) { self.run(job) }
    } else {
      DispatchQueue.global().async { self.run(job) }
    }
  }

  func run(_ job: UnownedJob) {
    job.runSynchronously(on: asUnownedTaskExecutor())
  }
}
