/// A mode in a row: one without a lane, or whose lane has a text as its key.
enum SavedMode: Codable, Sendable {
  case async
  case serial
  case lane(String)
  case mainThread

  /// Nil for a mode that can't be saved.
  init?(_ mode: Dispatcher.Mode) {
    switch mode.kind {
    // The thread that waits for a `.sync` dispatch is gone after a restart.
    case .async, .sync: self = .async
    case .serial: self = .serial
    case .mainThread: self = .mainThread
    case .lane(let key):
      guard let text = key.text else { return nil }
      self = .lane(text)
    case .lanes: return nil
    }
  }

  var mode: Dispatcher.Mode {
    switch self {
    case .async: .async
    case .serial: .serial
    case .lane(let key): .serial(lane: key)
    case .mainThread: .mainThread
    }
  }
}
