/// The state machine of one store in a round, without threads.
struct StoreRunState {
  enum Phase {
    /// Waits for its prerequisites. Can become starting.
    case waiting
    /// A step makes and runs its operation. Holds the report that came meanwhile.
    case starting(Report?)
    /// The operation runs, or waits for its dependencies. Can become starting or an end.
    case running
    /// The operation has ended, while tasks that it started commit. Can become undelivered or closing.
    case committing(StoreOutcome)
    /// The operation has ended, but commits deferred to other threads are not delivered yet. Can become closing.
    case undelivered(StoreOutcome)
    /// The store has ended, and `didDispatch` is called. Can become closed, pausing or repeating.
    case closing(StoreOutcome)
    /// An attempt has failed, and another follows after a pause. Can become repeating, or closing.
    case pausing(StoreOutcome)
    /// An attempt has failed, and a step begins another. Can become starting, or closing.
    case repeating(StoreOutcome)
    /// The final phase.
    case closed(StoreOutcome)
  }

  enum Report {
    case ended(StoreOutcome)
    /// The dependencies of the operation have finished.
    case ready
  }

  var phase = Phase.waiting
  /// The number of its prerequisites that have not closed.
  var missing = 0
  /// The number of commits under way in tasks that its operation started.
  private var taskCommits = 0
  /// The number of its deferred commits that are not delivered yet.
  private(set) var undelivered = 0
  private var wasUndelivered = false
  /// The running operation, which a cancellation cancels.
  var operation: (any StoreOperation)?
  /// The current or last attempt, and the number of attempts whose reducer was called.
  private(set) var attempt = 1
  var begunCount = 0
  /// The timer of the pause before its next attempt.
  var timer: TimerToken?

  /// Whether its reducer was called.
  var hasBegun: Bool { begunCount > 0 }

  var isWaiting: Bool {
    if case .waiting = phase { true } else { false }
  }

  /// Whether a step, an operation, a pause or an end of the store is under way.
  var isActive: Bool {
    switch phase {
    case .waiting, .closed: false
    default: !isDelivery
    }
  }

  /// Whether only the delivery of its commits is left, or has just ended.
  ///
  /// True until it has closed, because no `.sync` caller waits for the thread that closes it.
  var isDelivery: Bool {
    switch phase {
    case .undelivered: true
    case .closing: wasUndelivered
    default: false
    }
  }

  /// The outcome once `didDispatch` is called; nil before, and once it has closed.
  var closingOutcome: StoreOutcome? {
    if case .closing(let outcome) = phase { outcome } else { nil }
  }

  /// The next action of a step.
  enum Step {
    /// Close it, with this outcome.
    case close(StoreOutcome)
    /// Run its operation, whose dependencies have finished.
    case run
    /// Another step will follow.
    case wait
  }

  /// Notes that a step runs the operation, whose dependencies have finished.
  ///
  /// Returns false if it was run already, in a queue of the user's.
  mutating func run() -> Bool {
    switch phase {
    case .running, .starting(.ready):
      phase = .starting(nil)
      return true
    default:
      return false
    }
  }

  /// Notes that the starting step has returned, with an outcome if it ended without an operation.
  mutating func startReturned(_ outcome: StoreOutcome? = nil) -> Step {
    guard case .starting(let report) = phase else { return .wait }
    if let outcome { return end(outcome) }
    switch report {
    case .ended(let outcome):
      return end(outcome)
    case .ready:
      return .run
    case nil:
      phase = .running
      return .wait
    }
  }

  /// Notes that the dependencies of its operation have finished.
  ///
  /// - Parameter attempt: The attempt that made the operation: reports of former ones are ignored.
  mutating func becameReady(in attempt: Int) -> Step {
    guard attempt == self.attempt else { return .wait }
    switch phase {
    case .starting(nil):
      if isPlanted(.lostReady) { return .wait }
      phase = .starting(.ready)
      return .wait
    case .running:
      return .run
    default:
      return .wait
    }
  }

  mutating func operationEnded(_ outcome: StoreOutcome) -> Step {
    if case .starting = phase {
      phase = .starting(.ended(outcome))
      return .wait
    }
    return end(outcome)
  }

  private mutating func end(_ outcome: StoreOutcome) -> Step {
    if taskCommits > 0 {
      phase = .committing(outcome)
      return .wait
    }
    if undelivered > 0 {
      phase = .undelivered(outcome)
      return .wait
    }
    phase = .closing(outcome)
    return .close(outcome)
  }

  /// Begins a commit of a task that the operation of an attempt started; returns false if the operation has ended.
  mutating func beginTaskCommit(in attempt: Int) -> Bool {
    switch phase {
    case .starting(nil), .starting(.ready), .running:
      guard attempt == self.attempt else { return false }
      taskCommits += 1
      return true
    default:
      return false
    }
  }

  /// Ends the commit of a task, which is delivered or left to a notifier.
  mutating func endTaskCommit() -> Step {
    taskCommits -= 1
    guard case .committing(let outcome) = phase else { return .wait }
    return end(outcome)
  }

  mutating func commitDeferred() {
    undelivered += 1
  }

  mutating func commitDelivered() -> Step {
    undelivered -= 1
    guard undelivered == 0, case .undelivered(let outcome) = phase else { return .wait }
    phase = .closing(outcome)
    wasUndelivered = true
    return .close(outcome)
  }

  /// Ends an attempt that another one is to follow; returns the operation to release.
  mutating func endAttempt(_ outcome: StoreOutcome, pauses: Bool) -> (any StoreOperation)? {
    phase = pauses ? .pausing(outcome) : .repeating(outcome)
    wasUndelivered = false
    attempt += 1
    return operation.take()
  }
}
