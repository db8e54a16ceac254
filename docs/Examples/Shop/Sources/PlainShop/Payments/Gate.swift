/// When the gateway may be called: a rate limit, a limit of calls under way, and a circuit breaker.
struct Gate {
  typealias Instant = ContinuousClock.Instant

  enum Admission: Equatable {
    case go
    /// Ask again at this time.
    case wait(until: Instant)
    /// Ask again when a call has ended.
    case waitForCall
  }

  static let callsPerSecond = 200
  static let maximumUnderWay = 32
  static let failuresToOpen = 5
  static let pause = Duration.seconds(1)

  private var starts: [Instant] = []  // a ring of the last `callsPerSecond` calls
  private var oldest = 0
  private var underWay = 0
  private var failures = 0  // in a row
  private var closedUntil: Instant?

  /// Whether the breaker keeps calls away, but for one that tries.
  var isOpen: Bool { failures >= Self.failuresToOpen }

  mutating func enter(at now: Instant) -> Admission {
    if underWay == Self.maximumUnderWay { return .waitForCall }
    if isOpen {
      if let closedUntil, now < closedUntil { return .wait(until: closedUntil) }
      if underWay > 0 { return .waitForCall }
    }
    if starts.count < Self.callsPerSecond {
      starts.append(now)
    } else {
      let free = starts[oldest] + .seconds(1)
      if now < free { return .wait(until: free) }
      starts[oldest] = now
      oldest = (oldest + 1) % Self.callsPerSecond
    }
    underWay += 1
    return .go
  }

  mutating func leave(succeeded: Bool, at now: Instant) {
    underWay -= 1
    failures = succeeded ? 0 : failures + 1
    if isOpen { closedUntil = now + Self.pause }
  }
}
