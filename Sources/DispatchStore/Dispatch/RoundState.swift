/// The progress of one action through its stores, without threads.
struct RoundState {
  private enum Phase {
    /// Waits for stores that go before it. Can become starting or ended.
    case waiting
    /// A step asks for its operation and runs it; the outcome, where that ended meanwhile.
    case starting(StoreOutcome?)
    /// Its operation is under way, or waits for what it depends on.
    case running
    /// Its operation has ended; commits of its own, left to other threads, are yet to be told.
    case untold(StoreOutcome)
    /// Its operation has ended, and what follows an end is being done.
    case closing(StoreOutcome)
    /// Nothing follows.
    case closed(StoreOutcome)
  }

  private var phases: [Phase]
  private let prerequisites: [[Int]]
  private var missing: [Int]
  private var untold: [Int]
  private var open: Int
  private(set) var isCancelled = false

  /// - Parameter prerequisites: By place: the earlier places that it waits for.
  init(prerequisites: [[Int]]) {
    self.prerequisites = prerequisites
    phases = Array(repeating: .waiting, count: prerequisites.count)
    untold = Array(repeating: 0, count: prerequisites.count)
    missing = prerequisites.map(\.count)
    open = prerequisites.count
  }

  var isClosed: Bool { open == 0 }

  /// The places that wait for nothing.
  var first: [Int] { missing.indices.filter { missing[$0] == 0 } }

  /// Whether all that is under way is the telling of commits left to other threads.
  var onlyTellingIsLeft: Bool {
    var isUntold = false
    for phase in phases {
      switch phase {
      case .starting, .running, .closing: return false
      case .untold: isUntold = true
      case .waiting, .closed: break
      }
    }
    return isUntold
  }

  /// A step takes the place; the place among its prerequisites that did not finish, if any.
  mutating func start(_ place: Int) -> (failed: Int, StoreOutcome)? {
    phases[place] = .starting(nil)
    for prerequisite in prerequisites[place] {
      if case .closed(let outcome) = phases[prerequisite], !outcome.isFinished {
        return (prerequisite, outcome)
      }
    }
    return nil
  }

  /// A step runs the operation of a place, whose dependencies have finished.
  mutating func resume(_ place: Int) {
    phases[place] = .starting(nil)
  }

  /// What a step does next about a place.
  enum Step {
    /// Close it, with this outcome.
    case close(StoreOutcome)
    /// Somebody else will go on with it.
    case wait
  }

  /// The step that started the place has done so; `outcome` where it ended without an operation.
  mutating func startReturned(_ place: Int, _ outcome: StoreOutcome? = nil) -> Step {
    guard case .starting(let ended) = phases[place] else { return .wait }
    guard let outcome = outcome ?? ended else {
      phases[place] = .running
      return .wait
    }
    return end(place, outcome)
  }

  mutating func operationEnded(_ place: Int, _ outcome: StoreOutcome) -> Step {
    if case .starting = phases[place] {
      phases[place] = .starting(outcome)
      return .wait
    }
    return end(place, outcome)
  }

  private mutating func end(_ place: Int, _ outcome: StoreOutcome) -> Step {
    guard untold[place] == 0 else {
      phases[place] = .untold(outcome)
      return .wait
    }
    phases[place] = .closing(outcome)
    return .close(outcome)
  }

  mutating func commitLeft(_ place: Int) {
    untold[place] += 1
  }

  mutating func commitTold(_ place: Int) -> Step {
    untold[place] -= 1
    guard untold[place] == 0, case .untold(let outcome) = phases[place] else { return .wait }
    return end(place, outcome)
  }

  /// What follows the end has been done; the places that may start now.
  mutating func closed(_ place: Int) -> [Int] {
    guard case .closing(let outcome) = phases[place] else { return [] }
    phases[place] = .closed(outcome)
    open -= 1
    var ready: [Int] = []
    for (dependent, waits) in prerequisites.enumerated() where waits.contains(place) {
      missing[dependent] -= 1
      if missing[dependent] == 0 { ready.append(dependent) }
    }
    return ready
  }

  /// The places whose operations may be under way.
  mutating func cancel() -> [Int] {
    isCancelled = true
    return phases.indices.filter {
      switch phases[$0] {
      case .starting, .running: true
      default: false
      }
    }
  }

  var outcomes: [StoreOutcome] {
    phases.map { if case .closed(let outcome) = $0 { outcome } else { .cancelled } }
  }
}
