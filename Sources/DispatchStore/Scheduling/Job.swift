/// A piece of work for the pool or the main queue.
enum Job {
  /// Reaches a dispatch.
  case dispatch(Dispatch)
  /// Drains a lane for a while.
  case lane(Lane)
  /// Continues a dispatch that was reached.
  case step(@Sendable () -> Void)

  func run() {
    switch self {
    case .dispatch(var dispatch):
      let thread = ThreadState.current
      if case .unheard = Dispatch.reach(&dispatch, on: thread) {
        thread.spareDispatches.push(dispatch)
      }
    case .lane(let lane): lane.drain()
    case .step(let step): step()
    }
  }
}
