import DispatchStore

/// Runs the jobs of a scenario's tasks on the threads of its world.
final class WorldExecutor: TaskExecutor {
  private let world: World

  init(_ world: World) {
    self.world = world
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    world.run(.job) { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
