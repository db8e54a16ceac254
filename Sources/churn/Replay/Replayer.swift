/// Replays a history, event by event, and measures how long that takes.
protocol Replayer: Sendable {
  /// Its name in the report.
  var name: String { get }
  /// Whether the figures that depend on the order of changes are those of the log.
  var keepsOrder: Bool { get }

  /// Whether it replays through stores, which can be observed.
  var hasStores: Bool { get }

  /// Replays all events.
  ///
  /// Blocks its thread; must not be called on the main queue.
  ///
  /// - Parameter observers: Observe the stores of the replay, where it has any.
  func replay(_ history: EventBatches, _ observers: [any ReplayObserver]) throws -> RunResult
}

extension Replayer {
  /// Replays all events, unobserved.
  func replay(_ history: EventBatches) throws -> RunResult { try replay(history, []) }
}
