import Dispatch

/// Runs the board's task on a queue: a terminal that takes no output blocks that, and no thread of the pool on which
/// tasks replay.
final class BoardExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "churn.board")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
