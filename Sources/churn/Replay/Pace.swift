import DispatchStore

/// What keeps producers from having more actions in flight than they may.
enum Pace: Sendable {
  /// The program's limiter, for figures: it wakes a producer once for many actions, and a batch ends before the next one
  /// is read, so that the time to read is not counted.
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

  /// How many actions are in flight.
  var count: Int {
    switch self {
    case .measured(let limiter): limiter.count
    case .bounded(let limit, _): limit.figures.inFlight
    }
  }

  var isMeasured: Bool { if case .measured = self { true } else { false } }

  /// Waits for the end of a batch, where the next one is to begin after it.
  func endBatch() {
    if case .measured(let limiter) = self { limiter.waitUntilIdle() }
  }
}
