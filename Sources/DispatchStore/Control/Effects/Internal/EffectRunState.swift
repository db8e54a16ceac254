/// The life of one run of an effect, without threads.
struct EffectRunState {
  private enum Phase {
    /// Waits for its turn, or is about to begin. Can become running or ended.
    case waiting
    /// The run's task runs.
    ///
    /// Can become ended.
    case running(Task<Void, Never>?)
    case ended
  }

  private var phase = Phase.waiting
  private(set) var isCancelled = false
  /// The present sleep, if any.
  private var sleep: Sleep?

  /// A wait by the dispatcher's clock.
  struct Sleep {
    let waiter: UnsafeContinuation<Void, Never>
    var timer: TimerToken?
  }

  var hasEnded: Bool { if case .ended = phase { true } else { false } }
  var isActive: Bool { !isCancelled && !hasEnded }

  /// Begins the run; false if it was cancelled.
  mutating func begin() -> Bool {
    guard !isCancelled, case .waiting = phase else { return false }
    phase = .running(nil)
    return true
  }

  /// Keeps the run's task.
  ///
  /// Returns whether that is to be cancelled.
  mutating func keep(_ task: Task<Void, Never>) -> Bool {
    if case .running = phase { phase = .running(task) }
    return isCancelled
  }

  enum Cancel {
    /// The run has not begun, and ends.
    case end
    /// The task and the sleep are cancelled.
    case cancel(Task<Void, Never>?, Sleep?)
    /// The run has ended; its dispatches are cancelled.
    case cancelDispatches
    case none
  }

  mutating func cancel() -> Cancel {
    if isCancelled { return .none }
    switch phase {
    case .waiting:
      isCancelled = true
      return .end
    case .running(let task):
      isCancelled = true
      return .cancel(task, sleep.take())
    case .ended:
      return .cancelDispatches
    }
  }

  /// Begins a sleep; false if the run does not sleep.
  mutating func sleep(_ waiter: UnsafeContinuation<Void, Never>) -> Bool {
    if !isActive || sleep != nil { return false }
    sleep = Sleep(waiter: waiter)
    return true
  }

  /// Keeps the sleep's timer; false if it is not needed any longer.
  mutating func keep(_ timer: TimerToken) -> Bool {
    if sleep == nil { return false }
    sleep?.timer = timer
    return true
  }

  mutating func wake() -> Sleep? { sleep.take() }

  mutating func end() { phase = .ended }
}
