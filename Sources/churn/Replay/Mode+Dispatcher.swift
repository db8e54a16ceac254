import DispatchStore

extension Mode {
  /// How the dispatcher is to schedule a change.
  ///
  /// In `lanes`, the changes of one path keep their order, which is all that a takeover asks for.
  func scheduling(of change: Change) -> Dispatcher.Mode {
    self == .lanes ? .serial(lane: change.path) : scheduling
  }

  /// How the dispatcher is to schedule a commit.
  ///
  /// Lanes are told apart by the type of their key as well as by its value: no author shares one
  /// with a path.
  func scheduling(of commit: Commit) -> Dispatcher.Mode {
    self == .lanes ? .serial(lane: commit.author) : scheduling
  }

  private var scheduling: Dispatcher.Mode {
    switch self {
    case .async: .async
    case .sync: .sync
    case .serial, .lanes: .serial
    case .mainThread: .mainThread
    }
  }
}
