/// The progress of one action through its stores, without threads.
struct RoundState {
  let graph: StoreGraph
  /// The states of the stores by store index.
  var entries: [StoreRunState]
  /// Parked steps that wait for a store's undelivered changes, or for a gate that lets stores start.
  ///
  /// The value is the indices to start.
  private(set) var parked: [Int: [Int]] = [:]
  private var lastParked = 0
  private var open: Int
  private(set) var isCancelled = false
  /// Whether a store's reducer has been called.
  ///
  /// From then on, stores that run regardless do run.
  private(set) var hasStarted: Bool
  /// Whether stores have finished before the round.
  private let hadBegun: Bool

  /// - Parameters:
  ///   - finished: The number of stores that have finished before, which are the first ones.
  ///   - begun: The store index that has been started.
  init(_ graph: StoreGraph, finished: Int = 0, begun: Int? = nil) {
    self.graph = graph
    hadBegun = finished > 0
    open = graph.count
    hasStarted = begun != nil || hadBegun
    entries = Array(repeating: StoreRunState(), count: graph.count)
    if let prerequisites = graph.prerequisites {
      for (index, waits) in prerequisites.enumerated() {
        entries[index].missing = isPlanted(.droppedEdge) ? max(0, waits.count - 1) : waits.count
      }
    }
    for index in 0..<finished { note(.finished, of: index) }
    if let begun {
      entries[begun].phase = .starting(nil)
      entries[begun].begunCount = 1
    }
  }

  /// Closes a store; returns the stores that may start now.
  @discardableResult
  private mutating func note(_ outcome: StoreOutcome, of index: Int) -> [Int] {
    entries[index].phase = .closed(outcome)
    open -= 1
    var next: [Int] = []
    for dependent in graph.dependents?[index] ?? [] {
      entries[dependent].missing -= 1
      if entries[dependent].missing == 0 { next.append(dependent) }
    }
    return next
  }

  func prerequisites(of index: Int) -> [Int] { graph.prerequisites?[index] ?? [] }

  /// The outcome of a store if the dispatch is cancelled between two attempts.
  private func outcomeOfPause(_ last: StoreOutcome, of index: Int) -> StoreOutcome {
    graph.runsRegardless[index] ? last : .cancelled(hasStarted: true)
  }

  /// The outcome of a store whose last attempt has ended with this one.
  ///
  /// If a retry was cancelled before its operation ran, the store had started in the attempt before.
  private static func outcome(ofAttempt attempt: Int, _ last: StoreOutcome) -> StoreOutcome {
    if attempt > 1, case .cancelled(hasStarted: false) = last {
      return .cancelled(hasStarted: true)
    }
    return last
  }

  var isClosed: Bool { open == 0 }

  /// Whether all stores have ended, apart from hooks and closing.
  var haveAllEnded: Bool {
    entries.allSatisfy { entry in
      switch entry.phase {
      case .closing, .closed: true
      default: false
      }
    }
  }

  /// The stores that have not started and wait for nothing.
  var first: [Int] { entries.indices.filter { entries[$0].isWaiting && entries[$0].missing == 0 } }

  /// The outcomes of the stores; empty if all have finished.
  ///
  /// Stores that have not ended count as cancelled.
  var outcomes: [StoreOutcome] {
    let haveFinished = entries.allSatisfy {
      if case .closed(let outcome) = $0.phase { outcome.isFinished } else { false }
    }
    if haveFinished { return [] }
    return entries.enumerated().map { index, entry -> StoreOutcome in
      switch entry.phase {
      case .closed(let outcome): outcome
      case .waiting: .cancelled(hasStarted: false)
      case .starting, .running: .cancelled(hasStarted: entry.hasBegun)
      case .committing(let last), .undelivered(let last), .closing(let last):
        Self.outcome(ofAttempt: entry.attempt, last)
      case .pausing(let last), .repeating(let last): outcomeOfPause(last, of: index)
      }
    }
  }

  /// The number of attempts by store index; nil if no store has begun more than once.
  var attemptCounts: [Int]? {
    guard entries.contains(where: { $0.begunCount > 1 }) else { return nil }
    return entries.map { max($0.begunCount, 1) }
  }

  /// Whether a store has begun in an attempt.
  ///
  /// - Parameter outcomes: The outcomes of the stores.
  func hasBegun(_ outcomes: [StoreOutcome]) -> Bool {
    hadBegun
      || zip(entries, outcomes).contains { entry, outcome in
        // Another attempt follows only one that has begun.
        entry.attempt > 1 || entry.hasBegun && outcome.mayHaveStarted
      }
  }

  /// The results of the prerequisites of a started store.
  func prerequisiteResults(_ index: Int) -> [StoreResult] {
    prerequisites(of: index).compactMap { prerequisite in
      guard case .closed(let outcome) = entries[prerequisite].phase else { return nil }
      return StoreResult(storeIdentifier: graph.identifiers[prerequisite], outcome: outcome)
    }
  }

  /// Whether only deferred commits are still to be delivered.
  var onlyDeliveryIsLeft: Bool {
    !entries.contains(where: \.isActive) && entries.contains(where: \.isDelivery)
  }

  /// Whether only one store is running.
  var isAlone: Bool {
    parked.isEmpty && entries.count(where: \.isActive) == 1
      && !entries.contains(where: \.isDelivery)
  }

  /// The action of a step that starts a store.
  enum Start {
    /// Call the reducer.
    case run
    /// End the store, because a middleware has decided so or the dispatch is cancelled.
    case end(StoreOutcome)
    /// End the store, because one of its prerequisites did not finish.
    case fail(prerequisite: Int, StoreOutcome)
  }

  /// Starts a store, called by a step.
  ///
  /// - Parameters:
  ///   - verdict: The outcome that middlewares have decided, if any.
  ///   - isLeader: Whether it takes an atomic action through all stores, and so never runs regardless.
  ///   - isGone: Whether the store was weakly owned, and is gone.
  mutating func start(
    _ index: Int, verdict: StoreOutcome? = nil, isLeader: Bool = false, isGone: Bool = false
  ) -> Start {
    entries[index].phase = .starting(nil)
    if let verdict { return .end(verdict) }
    let runsRegardless = hasStarted && graph.runsRegardless[index] && !isLeader
    if isCancelled, !runsRegardless || isPlanted(.lostAudit) {
      return .end(.cancelled(hasStarted: entries[index].hasBegun))
    }
    for prerequisite in prerequisites(of: index) where !graph.runsRegardless[index] {
      if case .closed(let outcome) = entries[prerequisite].phase, !outcome.isFinished {
        return .fail(prerequisite: prerequisite, outcome)
      }
    }
    if isGone { return .end(.cancelled(hasStarted: entries[index].hasBegun)) }
    hasStarted = true
    entries[index].begunCount += 1
    return .run
  }

  /// Parks a step; returns the key to `unpark` it, once.
  mutating func park(_ indices: [Int]) -> Int {
    lastParked += 1
    parked[lastParked] = indices
    return lastParked
  }

  /// Whether a parked step starts the action; false also if it was resumed before.
  func startsAction(_ key: Int) -> Bool { parked[key] != nil && !hasStarted }

  /// Returns the stores to start; nil if the step was resumed before.
  mutating func unpark(_ key: Int) -> [Int]? { parked.removeValue(forKey: key) }

  /// Notes an operation that is about to run, or was started; returns whether the dispatch is cancelled.
  mutating func started(_ operation: any StoreOperation, at index: Int) -> Bool {
    entries[index].operation = operation
    return isCancelled
  }

  // MARK: The end of a store

  /// Closes a store after `didDispatch`; returns the stores that may start now, and the operation to release.
  mutating func closed(
    _ index: Int
  ) -> (next: [Int], isClosed: Bool, operation: (any StoreOperation)?) {
    guard let last = entries[index].closingOutcome else { return ([], false, nil) }
    let outcome = Self.outcome(ofAttempt: entries[index].attempt, last)
    let next = note(outcome, of: index)
    return (next, isClosed, entries[index].operation.take())
  }

  // MARK: Attempts

  /// The attempt that has failed in an operation, if another may follow; else nil.
  func failedAttempt(_ index: Int) -> Int? {
    let entry = entries[index]
    guard entry.closingOutcome?.isFailed == true, entry.begunCount == entry.attempt, !isCancelled
    else { return nil }
    return entry.attempt
  }

  /// Ends an attempt that another one is to follow, after `didDispatch`.
  ///
  /// - Returns: The operation to release; nil if the dispatch is cancelled, and the store closes.
  mutating func retry(_ index: Int, pauses: Bool) -> (any StoreOperation)?? {
    guard let outcome = entries[index].closingOutcome,
      !isCancelled || isPlanted(.pauseAfterCancel)
    else { return nil }
    return .some(entries[index].endAttempt(outcome, pauses: pauses))
  }

  /// Keeps the timer of a pause; returns false if the pause is over.
  mutating func keep(_ timer: TimerToken, at index: Int, of attempt: Int) -> Bool {
    guard case .pausing = entries[index].phase, entries[index].attempt == attempt else {
      return false
    }
    entries[index].timer = timer
    return true
  }

  /// Ends the pause before an attempt; returns whether a step is to begin that attempt.
  mutating func pausePassed(_ index: Int, before attempt: Int) -> Bool {
    guard case .pausing(let last) = entries[index].phase, entries[index].attempt == attempt else {
      return false
    }
    entries[index].timer = nil
    entries[index].phase = .repeating(last)
    return true
  }

  /// Returns the attempt, from 1, that a step is to begin; nil if the dispatch was cancelled since the last one, so that
  /// the store closes.
  mutating func beginAttempt(_ index: Int) -> Int? {
    guard case .repeating(let last) = entries[index].phase, isCancelled else {
      return entries[index].attempt
    }
    entries[index].phase = .closing(outcomeOfPause(last, of: index))
    return nil
  }

  /// The operations that run or wait for their dependencies.
  var operations: [any StoreOperation] { entries.compactMap(\.operation) }

  /// Prevents further starts; `cancel()` follows.
  mutating func startNoMore() {
    isCancelled = true
  }

  /// The operations and steps that a cancellation affects.
  struct Cancelled {
    /// The running operations, with their store indices.
    var operations: [(index: Int, operation: any StoreOperation)] = []
    /// The stores that parked steps were to start.
    var parked: [[Int]] = []
    /// Whether no store has started, so that none will.
    var isOver = false
    /// The stores whose pauses end, to be closed, with their timers.
    var pauses: [(index: Int, timer: TimerToken?)] = []
  }

  mutating func cancel() -> Cancelled {
    isCancelled = true
    defer { parked = [:] }
    // In the order in which they were parked, which a simulation repeats.
    let inOrder = parked.sorted { $0.key < $1.key }
    var cancelled = Cancelled(parked: inOrder.map(\.value), isOver: !hasStarted)
    for (index, entry) in entries.enumerated() {
      if let operation = entry.operation { cancelled.operations.append((index, operation)) }
      guard case .pausing(let last) = entry.phase else { continue }
      if isPlanted(.lostPauseEnd) { continue }
      entries[index].phase = .closing(outcomeOfPause(last, of: index))
      cancelled.pauses.append((index, entries[index].timer.take()))
    }
    return cancelled
  }
}
