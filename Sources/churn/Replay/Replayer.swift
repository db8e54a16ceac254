/// Replays a history, event by event, and measures how long that takes.
protocol Replayer: Sendable {
  /// The name in the report.
  var name: String { get }
  /// Whether the figures that depend on the order of changes are those of the log.
  var keepsOrder: Bool { get }

  /// Whether the replayer uses stores, which can be followed.
  var hasStores: Bool { get }

  /// Replays all events.
  ///
  /// Blocks its thread; must not be called on the main queue.
  ///
  /// - Parameters:
  ///   - followed: Writes what the replay changes; nil if nothing does.
  ///   - stop: Once it is requested nothing more is dispatched, and the result has the replay's progress.
  func replay(
    _ history: EventBatches, _ followed: FollowedReplay?, until stop: Stop
  ) throws -> RunResult
}

extension Replayer {
  /// Replays all events.
  func replay(_ history: EventBatches, _ followed: FollowedReplay? = nil) throws -> RunResult {
    try replay(history, followed, until: Stop())
  }
}
