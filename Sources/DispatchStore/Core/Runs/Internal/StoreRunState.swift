import Foundation

/// One store's part in an action, from its start to the end of its operation and of what that has committed; without
/// threads.
struct StoreRunState {
  private enum Phase {
    /// A step makes its operation and runs it; what was reported of it meanwhile.
    case starting(Report?)
    /// Its operation is under way, or waits for what it depends on. Can become starting or an end.
    case running
    /// Its operation has ended; tasks that it started commit. Can become undelivered or closing.
    case committing(StoreOutcome)
    /// Its operation has ended; some of its commits, deferred to other threads, are not delivered yet.
    case undelivered(StoreOutcome)
    /// It has ended, and `didDispatch` is called.
    case closing(StoreOutcome)
  }

  private enum Report {
    case ended(StoreOutcome)
    /// What the operation depends on has finished.
    case ready
  }

  private var phase = Phase.starting(nil)
  /// Commits under way of tasks that its operation started.
  private var taskCommits = 0
  /// Its commits that were deferred and not delivered yet.
  private(set) var undelivered = 0
  private var wasUndelivered = false
  /// The operation under way, to be cancelled.
  var operation: Operation?

  /// Makes it as it was at first.
  mutating func reset() {
    (phase, taskCommits, undelivered, wasUndelivered) = (.starting(nil), 0, 0, false)
    if operation != nil { operation = nil }
  }

  /// Whether what is left of it is the delivery of its commits, or came after that.
  ///
  /// Until it has closed: no `.sync` caller waits for the thread that closes it.
  var isDelivery: Bool {
    if case .undelivered = phase { true } else { wasUndelivered }
  }

  /// How it has ended; nil as long as its operation has not.
  var outcome: StoreOutcome? {
    switch phase {
    case .starting, .running: nil
    case .committing(let outcome), .undelivered(let outcome), .closing(let outcome): outcome
    }
  }

  /// The same once `didDispatch` is called.
  var closingOutcome: StoreOutcome? {
    if case .closing(let outcome) = phase { outcome } else { nil }
  }

  /// Where it stands.
  var standing: StoreStanding.Phase {
    switch phase {
    case .starting, .running, .committing: .running
    case .undelivered: .undelivered
    case .closing: .closing
    }
  }

  /// What a step does next about it.
  enum Step {
    /// Close it, with this outcome.
    case close(StoreOutcome)
    /// Run its operation, whose dependencies have finished.
    case run
    /// Another step will follow.
    case wait
  }

  /// A step runs the operation, whose dependencies have finished; false where it was run already, in a
  /// queue of the user's.
  mutating func run() -> Bool {
    switch phase {
    case .running, .starting(.ready):
      phase = .starting(nil)
      return true
    default:
      return false
    }
  }

  /// The step that started it has done so; `outcome` where it ended without an operation.
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

  /// What its operation depends on has finished.
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

  /// A task that the operation started begins a commit; false where the operation has ended.
  mutating func beginTaskCommit() -> Bool {
    switch phase {
    case .starting(nil), .starting(.ready), .running: taskCommits += 1
    default: return false
    }
    return true
  }

  /// That commit is delivered, or left to a notifier.
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

/// Where a store's part stands, as a diagnosis shows it.
struct StoreStanding {
  enum Phase {
    /// It has not started.
    case waiting
    /// It does not start before changes are delivered that were left to its store's notifier.
    case parked
    /// Its operation is under way, or waits for what it depends on.
    case running
    /// Its operation has ended; changes of it that were left to a notifier are not delivered.
    case undelivered
    /// Its hooks are called.
    case closing
    /// An attempt has failed; the next one follows after a pause.
    case pausing(before: Int)
    case closed
  }

  let identifier: String
  let phase: Phase
  /// The stores that it waits for.
  let prerequisites: [String]
  let operation: Operation?
}
