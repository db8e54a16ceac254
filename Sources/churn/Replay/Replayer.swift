/// Takes a history in, event by event, in its own way, and says how long that took.
protocol Replayer: Sendable {
  /// What the report calls it.
  var name: String { get }
  /// Whether the figures that depend on the order of changes come out as in the log.
  var keepsOrder: Bool { get }

  /// Replays all events.
  ///
  /// Called on a thread of its own, never on the main queue.
  func replay(_ history: EventBatches) throws -> RunResult
}
