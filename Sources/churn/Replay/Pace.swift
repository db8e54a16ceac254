import DispatchStore

/// The limit on the actions that producers have in flight.
enum Pace: Sendable {
  /// The program's limiter, for figures.
  ///
  /// It wakes a producer once for many actions. A batch ends before the next one is read, so that the time to read is
  /// not counted.
  case measured(InFlightLimiter)
  /// The library's limit, for a history of any length: one batch follows the other while actions of both are in flight.
  case bounded(DispatchLimit, DispatchOptions)

  init(inFlight: Int) {
    self = .measured(InFlightLimiter(limit: inFlight))
  }

  init(bound: Int) {
    let limit = DispatchLimit(bound, overflow: .wait, name: "the bound of \(bound)")
    self = .bounded(limit, .limited(by: limit))
  }

  /// The number of actions in flight.
  var count: Int {
    switch self {
    case .measured(let limiter): limiter.count
    case .bounded(let limit, _): limit.statistics.inFlight
    }
  }

  var isMeasured: Bool { if case .measured = self { true } else { false } }

  /// Waits for the end of a batch, if the next one is to begin after it.
  func endBatch() {
    if case .measured(let limiter) = self { limiter.waitUntilIdle() }
  }
}
