import Foundation

/// The row of the work.
struct OutboxRow: Codable, Sendable {
  let effect: String
  let dispatcher: String
  /// The place in the order in which work came.
  let number: Int
  let action: SavedAction
  let attempts: Int
  let error: String?
  let failed: Int64?
}

/// The value of the row, before it is encoded.
struct OutboxRowValue: CompanionValue {
  let entry: OutboxEntry
  /// The progress at the time of the commit.
  let progress: OutboxEntry.Progress

  var description: String { "the durable effect \"\(entry.effect)\"" }

  func encoded(by encoder: CompanionEncoder) throws -> Data {
    try encoder.encode(
      OutboxRow(
        effect: entry.effect, dispatcher: entry.dispatcher, number: entry.number,
        // Work whose action is not known has no other row than the one that was found.
        action: encoder.save(entry.action!, of: description), attempts: progress.attempts,
        error: progress.error ?? (progress.isCounted ? OutboxEntry.endOfProcess : nil),
        failed: progress.failed))
  }
}
