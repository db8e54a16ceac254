/// When a circuit breaker opens and closes: without threads and without a clock.
struct BreakerState {
  private enum Phase {
    /// Everything passes. Counts the failures in a row. Can become open.
    case closed(failures: Int)
    /// Nothing passes until that time. Can become half-open.
    case open(until: Int64)
    /// Trials pass. Counts those in flight and those that have succeeded. Can become closed or open.
    case halfOpen(inFlight: Int, successes: Int)
  }

  /// The right of a dispatch to begin, with which its end is reported.
  struct Pass: Equatable {
    /// The number of changes before it: after a further one, its end counts no longer.
    fileprivate let change: Int
  }

  enum Entry: Equatable {
    case pass(Pass)
    /// The dispatch is refused; it may try again after this time, in nanoseconds.
    case refused(Int64)
  }

  enum Verdict {
    case success
    case failure
    /// The end says nothing about the dependency.
    case none
  }

  private let failureCount: Int
  private let pause: Int64
  private let trialCount: Int
  private var phase = Phase.closed(failures: 0)
  private var changeCount = 0
  private(set) var openingCount = 0

  /// - Parameter pause: In nanoseconds.
  init(failures: Int, pause: Int64, trials: Int) {
    (failureCount, self.pause, trialCount) = (failures, pause, trials)
  }

  var state: CircuitBreaker.State {
    switch phase {
    case .closed: .closed
    case .open: .open
    case .halfOpen: .halfOpen
    }
  }

  var consecutiveFailures: Int {
    if case .closed(let failures) = phase { failures } else { 0 }
  }

  var trialsInFlight: Int {
    if case .halfOpen(let inFlight, _) = phase { inFlight } else { 0 }
  }

  /// The time until trials may pass, in nanoseconds; nil unless it is open, and has that time left.
  func pauseLeft(at time: Int64) -> Int64? {
    guard case .open(let end) = phase, time < end else { return nil }
    return end - time
  }

  /// Decides whether a dispatch begins now; after the pause, it is a trial.
  mutating func enter(at time: Int64) -> Entry {
    switch phase {
    case .closed:
      return .pass(Pass(change: changeCount))
    case .open(let end):
      if time < end { return .refused(end - time) }
      change(to: .halfOpen(inFlight: 1, successes: 0))
      return .pass(Pass(change: changeCount))
    case .halfOpen(let inFlight, let successes):
      // No more than are needed to close it.
      guard inFlight + successes < trialCount else { return .refused(pause) }
      phase = .halfOpen(inFlight: inFlight + 1, successes: successes)
      return .pass(Pass(change: changeCount))
    }
  }

  /// Notes how a dispatch that has passed has ended.
  mutating func report(_ verdict: Verdict, of pass: Pass, at time: Int64) {
    guard pass.change == changeCount else { return }
    switch (phase, verdict) {
    case (.closed, .success):
      phase = .closed(failures: 0)
    case (.closed(let failures), .failure):
      phase = .closed(failures: failures + 1)
      if failures + 1 >= failureCount { open(at: time) }
    case (.halfOpen, .failure):
      open(at: time)
    case (.halfOpen(let inFlight, let successes), .success):
      phase = .halfOpen(inFlight: inFlight - 1, successes: successes + 1)
      if successes + 1 >= trialCount { change(to: .closed(failures: 0)) }
    case (.halfOpen(let inFlight, let successes), .none):
      phase = .halfOpen(inFlight: inFlight - 1, successes: successes)
    case (.closed, .none), (.open, _):
      break
    }
  }

  private mutating func open(at time: Int64) {
    openingCount += 1
    change(to: .open(until: time.addingClamped(pause)))
  }

  private mutating func change(to next: Phase) {
    changeCount += 1
    phase = next
  }
}
