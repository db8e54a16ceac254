/// A piece of work for the pool or the main queue.
enum Job {
  /// Reaches a dispatch.
  case dispatch(Dispatch)
  /// Drains a lane for a while.
  case lane(Lane)
  /// Continues a dispatch that was reached.
  case step(@Sendable () -> Void)

  func run(in pool: ConcurrentPool, on thread: ThreadState) {
    switch self {
    case .dispatch(var dispatch):
      if case .unheard = Dispatch.reach(&dispatch, on: thread) {
        pool.recycle(dispatch, on: thread)
      }
    case .lane(let lane): lane.drain()
    case .step(let step): step()
    }
  }
}
