/// The ways in which `churn` can dispatch a history, by the names that `--mode` takes.
enum Mode: String, CaseIterable, Sendable {
  case async, sync, serial, lanes, mainThread
  /// Like `lanes`, but by tasks that send each action, and go on once it has ended.
  case structured

  /// Whether the figures that depend on the order of changes are those of the log.
  var keepsOrder: Bool { self != .async }

  /// Whether several threads or tasks may dispatch at once without breaking the mode's promise.
  var takesSeveralProducers: Bool { self == .async || hasLanes }

  /// Whether each path and each author has a lane.
  var hasLanes: Bool { self == .lanes || self == .structured }
}
