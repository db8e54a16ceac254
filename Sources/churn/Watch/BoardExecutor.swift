import Dispatch

/// Runs the board's task on a queue, so that a blocked terminal blocks only that queue.
///
/// Otherwise it would block a thread of the pool on which tasks replay.
final class BoardExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "churn.board")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
