/// The life of one dispatch that several threads take part in, without threads.
struct DispatchState {
  private enum Phase {
    /// Waits for its turn at the scheduler, for other dispatches, or between two actions of a sequence for
    /// the queue to be resumed. Can become running or ending.
    case waiting(Waiting)
    /// Its actions run. Can become waiting (between two actions) or ending.
    case running(DispatchWork)
    /// Its completion runs. Can become ended.
    case ending
    /// Nothing follows.
    case ended(DispatchResult)
  }

  private struct Waiting {
    /// It was made inside an exclusive section, whose thread makes it ready to be scheduled once that is left:
    /// until then a cancellation is only noted.
    var isUnaccepted = false
    /// The scheduler has started it, and keeps its place.
    var isParked = false
    /// The dispatches to be waited for, and how many of them have not ended.
    var before: [Dispatch] = []
    var missing = 0
  }

  private var phase: Phase
  private var waiters: [@Sendable () -> Void] = []
  private(set) var isCancelled = false
  /// Why it was cancelled, where it would have waited for ever.
  private(set) var refusal: DispatchError?

  /// For a dispatch that one thread had to itself until now.
  init(isRunning: Bool) {
    phase = isRunning ? .running(.none) : .waiting(Waiting())
  }

  var result: DispatchResult? {
    if case .ended(let result) = phase { result } else { nil }
  }

  /// Whether no closure waits for its end, and it was not cancelled.
  var isUndisturbed: Bool { waiters.isEmpty && !isCancelled && refusal == nil }

  /// Whether it runs, or will run, at its scheduler.
  var needsScheduler: Bool {
    switch phase {
    case .waiting, .running: true
    case .ending, .ended: false
    }
  }

  /// Whether it waits to run.
  var isWaiting: Bool {
    if case .waiting = phase { true } else { false }
  }

  /// The dispatches that it waits for before it runs.
  var before: [Dispatch] {
    if case .waiting(let waiting) = phase { waiting.before } else { [] }
  }

  /// What runs of it.
  var work: DispatchWork {
    if case .running(let work) = phase { work } else { .none }
  }

  /// It is not to run before these have ended.
  mutating func wait(for before: [Dispatch]) {
    guard case .waiting(var waiting) = phase else { return }
    (waiting.before, waiting.missing) = (before, before.count)
    phase = .waiting(waiting)
  }

  /// It is made inside an exclusive section.
  mutating func awaitAcceptance() {
    phase = .waiting(Waiting(isUnaccepted: true))
  }

  /// Its scheduler has it; what a refusal, or a cancellation that came meanwhile, leads to.
  mutating func endAcceptance(refusing error: DispatchError?) -> Cancel {
    guard case .waiting(var waiting) = phase else { return .none }
    waiting.isUnaccepted = false
    phase = .waiting(waiting)
    refusal = error
    return error != nil || isCancelled && !isPlanted(.lostAtAcceptance) ? cancel() : .none
  }

  enum Start {
    /// Its actions run now.
    case run
    /// Its place is kept until the dispatches before it have ended.
    case park
    /// It was cancelled; its place is skipped.
    case skip
  }

  /// The scheduler starts it.
  mutating func start() -> Start {
    guard case .waiting(var waiting) = phase, !isCancelledUnaccepted else { return .skip }
    guard waiting.missing > 0 else {
      phase = .running(.none)
      return .run
    }
    waiting.isParked = true
    phase = .waiting(waiting)
    return .park
  }

  /// It waits between two actions; false where it is cancelled, and goes on to its end.
  mutating func pause() -> Bool {
    guard !isCancelled else { return false }
    phase = .waiting(Waiting(isParked: true))
    return true
  }

  /// One of the dispatches before it has ended; whether it can run now, at the place that it keeps.
  mutating func oneBeforeEnded() -> Bool {
    guard case .waiting(var waiting) = phase else { return false }
    waiting.missing = isPlanted(.oneBeforeIsEnough) ? 0 : waiting.missing - 1
    phase = .waiting(waiting)
    return waiting.isParked && waiting.missing == 0 && !isCancelledUnaccepted
  }

  /// Whether the end of its acceptance will end it.
  private var isCancelledUnaccepted: Bool {
    if case .waiting(let waiting) = phase { waiting.isUnaccepted && isCancelled } else { false }
  }

  enum Cancel {
    /// It ends now, without having run.
    case end(wasParked: Bool)
    /// This is cancelled.
    case cancel(DispatchWork)
    case none
  }

  mutating func cancel() -> Cancel {
    switch phase {
    case .waiting(let waiting) where waiting.isUnaccepted:
      isCancelled = true
      return .none
    case .waiting(let waiting):
      isCancelled = true
      phase = .ending
      return .end(wasParked: waiting.isParked)
    case .running(let work):
      defer { isCancelled = true }
      return isCancelled ? .none : .cancel(work)
    case .ending, .ended:
      return .none
    }
  }

  /// A part of it begins; whether that is to be cancelled first.
  mutating func begin(_ work: DispatchWork) -> Bool {
    phase = .running(work)
    return isCancelled
  }

  /// The part that ran has ended.
  mutating func endWork() {
    if case .running = phase { phase = .running(.none) }
  }

  mutating func beginEnding() {
    phase = .ending
  }

  /// The closures that wait for the end.
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

/// What runs of a dispatch, beside an inline run.
enum DispatchWork {
  case none
  /// Its action, store by store.
  case round(Round)
  /// Of a sequence, the dispatch of one action.
  case step(Dispatch)

  func cancel() {
    switch self {
    case .none: break
    case .round(let round): round.cancel()
    case .step(let dispatch): dispatch.cancel()
    }
  }

  /// Whether only the delivery of deferred commits is under way.
  var onlyDeliveryIsLeft: Bool {
    switch self {
    case .none: false
    case .round(let round): round.onlyDeliveryIsLeft
    case .step(let dispatch): dispatch.onlyDeliveryIsLeft
    }
  }
}
