/// The life of one dispatch, without threads.
struct DispatchState {
  private enum Phase {
    /// Waits for its place at the scheduler, for dispatches before it, or between two actions for the
    /// queue to go on. Can become running or ending.
    case waiting(reached: Bool, left: Int, before: [Dispatch])
    /// Its actions run: this round, or none between two. Can become ending.
    case running(Round?)
    /// Its completion runs. Can become ended.
    case ending
    /// Nothing follows.
    case ended(DispatchResult)
  }

  private var phase: Phase
  private var waiters: [@Sendable () -> Void] = []
  private(set) var isCancelled = false

  /// - Parameter before: The dispatches to be waited for.
  init(before: [Dispatch]) {
    phase = .waiting(reached: false, left: before.count, before: before)
  }

  /// For a dispatch of which nobody knew until now.
  init(isRunning: Bool) {
    phase = isRunning ? .running(nil) : .waiting(reached: false, left: 0, before: [])
  }

  var result: DispatchResult? {
    if case .ended(let result) = phase { result } else { nil }
  }

  var needsScheduler: Bool {
    switch phase {
    case .waiting, .running: true
    case .ending, .ended: false
    }
  }

  /// The dispatches that it waits for before it runs.
  var before: [Dispatch] {
    if case .waiting(_, _, let before) = phase { before } else { [] }
  }

  enum Reach {
    /// Its actions run now.
    case run
    /// Its place is kept until the dispatches before it have ended.
    case park
    /// It was cancelled; its place is skipped.
    case skip
  }

  /// The scheduler has come to it.
  mutating func reach() -> Reach {
    switch phase {
    case .waiting(_, left: 0, _):
      phase = .running(nil)
      return .run
    case .waiting(_, let left, let before):
      phase = .waiting(reached: true, left: left, before: before)
      return .park
    case .running, .ending, .ended:
      return .skip
    }
  }

  /// It waits between two actions.
  mutating func pause() {
    phase = .waiting(reached: true, left: 0, before: [])
  }

  /// One of the dispatches before it has ended; whether it can run now, at the place that it keeps.
  mutating func oneBeforeEnded() -> Bool {
    guard case .waiting(let reached, let left, let before) = phase else { return false }
    let still = isPlanted(.oneBeforeIsEnough) ? 0 : left - 1
    phase = .waiting(reached: reached, left: still, before: before)
    return reached && still == 0
  }

  enum Cancel {
    /// It ends now, without having run.
    case end(wasReached: Bool)
    /// What it has under way is to be cancelled.
    case round(Round)
    case none
  }

  mutating func cancel() -> Cancel {
    switch phase {
    case .waiting(let reached, _, _):
      isCancelled = true
      phase = .ending
      return .end(wasReached: reached)
    case .running(let round):
      defer { isCancelled = true }
      return isCancelled ? .none : round.map(Cancel.round) ?? .none
    case .ending, .ended:
      return .none
    }
  }

  /// A round begins; whether it is to be cancelled first.
  mutating func begin(_ round: Round) -> Bool {
    phase = .running(round)
    return isCancelled
  }

  /// The round that ran.
  mutating func takeRound() -> Round? {
    guard case .running(let round) = phase else { return nil }
    phase = .running(nil)
    return round
  }

  /// The round that runs.
  var round: Round? {
    if case .running(let round) = phase { round } else { nil }
  }

  mutating func beginEnding() {
    phase = .ending
  }

  /// Those who wait for the end.
  mutating func end(_ result: DispatchResult) -> [@Sendable () -> Void] {
    phase = .ended(result)
    defer { waiters = [] }
    return waiters
  }

  /// Whether the waiter will be called; false where the dispatch has ended.
  mutating func wait(_ waiter: @escaping @Sendable () -> Void) -> Bool {
    if case .ended = phase { return false }
    waiters.append(waiter)
    return true
  }
}
