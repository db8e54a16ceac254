/// The ways in which `churn` can dispatch a history, by the names that `--mode` takes.
enum Mode: String, CaseIterable, Sendable {
  case async, sync, serial, lanes, mainThread

  /// Whether the figures that depend on the order of changes are those of the log.
  var keepsOrder: Bool { self != .async }

  /// Whether several threads may dispatch at once without losing what the mode promises.
  var takesSeveralProducers: Bool { self == .async || self == .lanes }
}
