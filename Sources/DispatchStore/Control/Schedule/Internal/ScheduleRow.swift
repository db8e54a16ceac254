import Foundation

/// The row of a scheduled action.
struct ScheduleRow: Codable, Sendable {
  /// The dispatcher's name.
  let dispatcher: String
  let name: String
  let action: SavedAction
  let store: String?
  let mode: SavedMode
  /// When it begins, or begins next, in nanoseconds since 1970.
  let due: Int64
  /// In nanoseconds; nil if it begins once.
  let interval: Int64?
  let skipsMissed: Bool
  /// The idempotency key of the dispatch.
  var key: IdempotencyKey?
  /// The text of its error, and when it has failed, in milliseconds since 1970; nil unless it is a dead letter.
  var error: String?
  var failed: Int64?
}

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

/// A scheduled action that is saved, before its row is encoded.
struct ScheduleRecord: CompanionValue {
  let dispatcher: String
  let name: String
  let action: any ActionType
  let storeIdentifier: String?
  let mode: SavedMode
  var due: Int64
  let interval: Int64?
  let missed: MissedRuns
  var key: IdempotencyKey?
  var error: String?
  var failed: Int64?
  let encodeAction: @Sendable (any ActionType) throws -> SavedAction

  var description: String { "the scheduled action \"\(name)\"" }

  func encoded(with encode: (any Encodable) throws -> Data) throws -> Data {
    try encode(
      ScheduleRow(
        dispatcher: dispatcher, name: name, action: try encodeAction(action),
        store: storeIdentifier, mode: mode, due: due, interval: interval,
        skipsMissed: missed == .skip, key: key, error: error, failed: failed))
  }
}
