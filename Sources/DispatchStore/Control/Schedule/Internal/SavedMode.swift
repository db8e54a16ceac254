import Foundation

/// A mode in a row: one without a lane, or whose lane has a text, an integer or a UUID as its key.
enum SavedMode: Codable, Sendable {
  case async
  case serial
  case lane(String)
  case numberedLane(Int)
  case identifiedLane(UUID)
  case mainThread

  /// Nil for a mode that can't be saved.
  init?(_ mode: Dispatcher.Mode) {
    switch mode.kind {
    // The thread that waits for a `.sync` dispatch is gone after a restart.
    case .async, .sync: self = .async
    case .serial: self = .serial
    case .mainThread: self = .mainThread
    case .lane(let key):
      if let text = key.cast(to: String.self) {
        self = .lane(text)
      } else if let number = key.cast(to: Int.self) {
        self = .numberedLane(number)
      } else if let identifier = key.cast(to: UUID.self) {
        self = .identifiedLane(identifier)
      } else {
        return nil
      }
    case .lanes: return nil
    }
  }

  var mode: Dispatcher.Mode {
    switch self {
    case .async: .async
    case .serial: .serial
    case .lane(let key): .serial(lane: key)
    case .numberedLane(let key): .serial(lane: key)
    case .identifiedLane(let key): .serial(lane: key)
    case .mainThread: .mainThread
    }
  }
}
