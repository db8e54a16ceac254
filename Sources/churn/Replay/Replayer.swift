/// Replays a history, event by event, and measures how long that takes.
protocol Replayer: Sendable {
  /// Its name in the report.
  var name: String { get }
  /// Whether the figures that depend on the order of changes are those of the log.
  var keepsOrder: Bool { get }

  /// Replays all events.
  ///
  /// Blocks its thread; must not be called on the main queue.
  func replay(_ history: EventBatches) throws -> RunResult
}
