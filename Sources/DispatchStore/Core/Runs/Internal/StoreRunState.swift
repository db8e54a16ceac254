/// The state machine of one store in a dispatch, from its start to the end of its operation and commits, without
/// threads.
struct StoreRunState {
  enum Phase {
    /// A step makes and runs its operation. Holds the report that came meanwhile.
    case starting(Report?)
    /// The operation runs, or waits for its dependencies. Can become starting or an end.
    case running
    /// The operation has ended, while tasks that it started commit. Can become undelivered or closing.
    case committing(StoreOutcome)
    /// The operation has ended, but commits deferred to other threads are not delivered yet.
    case undelivered(StoreOutcome)
    /// The store has ended, and `didDispatch` is called.
    case closing(StoreOutcome)
  }

  enum Report {
    case ended(StoreOutcome)
    /// The dependencies of the operation have finished.
    case ready
  }

  private(set) var phase = Phase.starting(nil)
  /// The number of commits under way in tasks that its operation started.
  private var taskCommits = 0
  /// The number of its deferred commits that are not delivered yet.
  private(set) var undelivered = 0
  private var wasUndelivered = false
  /// The running operation, which a cancellation cancels.
  var operation: (any StoreOperation)?

  /// Whether only the delivery of its commits is left, or has just ended.
  ///
  /// True until it has closed, because no `.sync` caller waits for the thread that closes it.
  var isDelivery: Bool {
    if case .undelivered = phase { true } else { wasUndelivered }
  }

  /// The outcome; nil until its operation has ended.
  var outcome: StoreOutcome? {
    switch phase {
    case .starting, .running: nil
    case .committing(let outcome), .undelivered(let outcome), .closing(let outcome): outcome
    }
  }

  /// The outcome once `didDispatch` is called; nil before.
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
  mutating func becameReady() -> Step {
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

  /// Begins a commit of a task that the operation started; returns false if the operation has ended.
  mutating func beginTaskCommit() -> Bool {
    switch phase {
    case .starting(nil), .starting(.ready), .running: taskCommits += 1
    default: return false
    }
    return true
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
}
