import DispatchStore

extension Mode {
  /// The dispatcher's mode for a change.
  ///
  /// In lanes, the changes of one path keep their order, and takeovers depend on no other order.
  func scheduling(of change: Change) -> Dispatcher.Mode {
    hasLanes ? .serial(lane: change.path) : scheduling
  }

  /// The dispatcher's mode for a commit.
  ///
  /// Lane keys are compared by type as well as by value, so no author shares a lane with a path.
  func scheduling(of commit: Commit) -> Dispatcher.Mode {
    hasLanes ? .serial(lane: commit.author) : scheduling
  }

  private var scheduling: Dispatcher.Mode {
    switch self {
    case .async: .async
    case .sync: .sync
    case .serial, .lanes, .structured: .serial
    case .mainThread: .mainThread
    }
  }
}
