/// The life of one run of an effect, without threads.
struct EffectRunState {
  private enum Phase {
    /// Waits for its turn, or is about to begin. Can become running or ended.
    case waiting
    /// The task of an attempt runs.
    ///
    /// Can become pausing or ended.
    case running(Task<Void, Never>?)
    /// Waits before another attempt, without a task. Can become waiting or ended.
    case pausing(TimerToken?)
    case ended
  }

  private var phase = Phase.waiting
  var line: SharedEffectLine?
  private(set) var isCancelled = false
  /// The number of attempts that have begun.
  private(set) var attemptCount = 0
  private var failuresInARow = 0
  /// Whether the last one has passed its time limit.
  private(set) var isLate = false

  var hasEnded: Bool { if case .ended = phase { true } else { false } }
  /// Whether the run pauses, and its timer is set.
  var isPausing: Bool { if case .pausing(.some) = phase { true } else { false } }
  var isActive: Bool { !isCancelled && !hasEnded }

  /// Begins an attempt.
  ///
  /// Returns its number, from 1; nil if the run was cancelled.
  mutating func begin() -> Int? {
    guard !isCancelled, case .waiting = phase else { return nil }
    phase = .running(nil)
    attemptCount += 1
    isLate = false
    return attemptCount
  }

  /// Counts a failure; returns how many there were in a row, of which it may be the first.
  mutating func countFailure(resets: Bool) -> Int {
    failuresInARow = resets ? 1 : failuresInARow + 1
    return failuresInARow
  }

  /// Ends the time of an attempt; returns the task to be cancelled, if it goes on and has one.
  mutating func timeOut(_ attempt: Int) -> Task<Void, Never>? {
    guard case .running(let task) = phase,
      attempt == attemptCount || isPlanted(.nextAttemptEnds)
    else { return nil }
    isLate = true
    return task
  }

  /// Keeps the task of an attempt, unless the next one has begun before.
  ///
  /// Returns whether that is to be cancelled.
  mutating func keep(_ task: Task<Void, Never>, of attempt: Int) -> Bool {
    guard case .running = phase, attempt == attemptCount else { return isCancelled }
    phase = .running(task)
    return isCancelled || isLate
  }

  /// Begins the pause after an attempt; false if the run was cancelled.
  mutating func pause() -> Bool {
    guard !isCancelled, case .running = phase else { return false }
    phase = .pausing(nil)
    return true
  }

  /// Keeps the timer of the pause after an attempt; false if it is not needed any longer.
  mutating func keep(_ timer: TimerToken, after attempt: Int) -> Bool {
    guard case .pausing = phase, attempt == attemptCount else { return false }
    phase = .pausing(timer)
    return true
  }

  /// Ends a pause; false if there is none.
  mutating func endPause() -> Bool {
    guard case .pausing = phase else { return false }
    phase = .waiting
    return true
  }

  enum Cancel {
    /// No attempt is under way, so the run ends. The timer of its pause is removed.
    case end(TimerToken?)
    /// The task is cancelled, if there is one: the run may have ended, and its dispatches go on.
    case cancel(Task<Void, Never>?)
    case none
  }

  mutating func cancel() -> Cancel {
    if isCancelled { return .none }
    isCancelled = !hasEnded
    switch phase {
    case .waiting: return .end(nil)
    case .running(let task): return .cancel(task)
    case .pausing(let timer): return .end(timer)
    case .ended: return .cancel(nil)
    }
  }

  /// Ends the run; false if it has ended before.
  mutating func end() -> Bool {
    defer { phase = .ended }
    return !hasEnded
  }
}
