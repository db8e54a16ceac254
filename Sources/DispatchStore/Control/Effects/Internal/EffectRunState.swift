/// The life of one run of an effect, without threads.
struct EffectRunState {
  private enum Phase {
    /// Waits for its turn, or is about to begin. Can become running or ended.
    case waiting
    /// Its task runs. Can become ended.
    case running(Task<Void, Never>?)
    case ended
  }

  private var phase = Phase.waiting
  private(set) var isCancelled = false
  /// While it sleeps.
  private var sleep: Sleep?

  /// A wait by the dispatcher's clock.
  struct Sleep {
    let waiter: UnsafeContinuation<Void, Never>
    var timer: TimerToken?
  }

  var hasEnded: Bool { if case .ended = phase { true } else { false } }
  var isActive: Bool { !isCancelled && !hasEnded }

  /// Whether it begins; false where it was cancelled.
  mutating func begin() -> Bool {
    guard !isCancelled, case .waiting = phase else { return false }
    phase = .running(nil)
    return true
  }

  /// Its task was made; whether that is to be cancelled.
  mutating func keep(_ task: Task<Void, Never>) -> Bool {
    if case .running = phase { phase = .running(task) }
    return isCancelled
  }

  enum Cancel {
    /// It has not begun, and ends.
    case end
    /// What runs is cancelled.
    case cancel(Task<Void, Never>?, Sleep?)
    /// It has ended; what it has dispatched is cancelled.
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

  /// It sleeps from now on; false where it does not.
  mutating func sleep(_ waiter: UnsafeContinuation<Void, Never>) -> Bool {
    if !isActive || sleep != nil { return false }
    sleep = Sleep(waiter: waiter)
    return true
  }

  /// The sleep's timer was added; false where it is not needed any longer.
  mutating func keep(_ timer: TimerToken) -> Bool {
    if sleep == nil { return false }
    sleep?.timer = timer
    return true
  }

  mutating func wake() -> Sleep? { sleep.take() }

  mutating func end() { phase = .ended }
}
