/// A piece of work for the pool.
enum Job {
  /// Starts a dispatch.
  case dispatch(Dispatch)
  /// Drains a lane for a while.
  case lane(Lane)
  /// Continues a dispatch that was started.
  case step(@Sendable () -> Void)

  /// Runs the job; returns how many dispatches it started and steps it ran.
  ///
  /// Consumes the job, so that it keeps no reference to a dispatch that ends.
  consuming func run(in pool: ConcurrentPool, on thread: ThreadState) -> Int {
    switch consume self {
    case .dispatch(var dispatch):
      if case .reusable = Dispatch.start(&dispatch, on: thread) {
        pool.recycle(dispatch, on: thread)
      }
      return 1
    case .lane(var lane):
      defer { Lane.recycle(&lane) }
      return lane.drain()
    case .step(let step):
      step()
      return 1
    }
  }
}
