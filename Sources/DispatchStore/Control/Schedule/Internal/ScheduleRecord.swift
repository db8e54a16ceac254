import Foundation

/// A scheduled action that is saved: with its action, or in the row with a saved one.
struct ScheduleRecord<Action: Sendable>: Sendable {
  /// The dispatcher's name.
  let dispatcher: String
  let name: String
  let action: Action
  let store: String?
  let mode: SavedMode
  /// When it begins, or begins next, in nanoseconds since 1970.
  var due: Int64
  /// In nanoseconds; nil if it begins once.
  let interval: Int64?
  let skipsMissed: Bool
  /// The idempotency key of the dispatch.
  let key: IdempotencyKey?
  /// The text of its error, and when it has failed, in milliseconds since 1970; nil unless it is a dead letter.
  var error: String?
  var failed: Int64?

  var missed: MissedRuns { skipsMissed ? .skip : .once }

  /// Returns the record with another form of its action.
  func with<Other>(_ action: Other) -> ScheduleRecord<Other> {
    ScheduleRecord<Other>(
      dispatcher: dispatcher, name: name, action: action, store: store, mode: mode, due: due,
      interval: interval, skipsMissed: skipsMissed, key: key, error: error, failed: failed)
  }
}

typealias ScheduleRow = ScheduleRecord<SavedAction>
/// A scheduled action that has failed for good; nil stands for an action that can't be decoded.
typealias ScheduleLetter = ScheduleRecord<(any ActionType)?>

extension ScheduleRecord: Codable where Action: Codable {}

extension ScheduleRecord: CompanionValue where Action == any ActionType {
  var description: String { "the schedule \"\(name)\"" }

  func encoded(by encoder: CompanionEncoder) throws -> Data {
    try encoder.encode(with(encoder.save(action, of: description)))
  }
}
