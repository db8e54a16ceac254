import Foundation

/// The progress of one action through its stores, without threads.
struct RoundState {
  private enum Phase {
    /// Waits for stores that go before it. Can become under way.
    case waiting
    /// It runs, or its hooks are called. Can become closed, pausing or repeating.
    case underWay
    /// An attempt has failed, another one follows after a pause. Can become repeating or under way, to be closed.
    case pausing(StoreOutcome)
    /// An attempt has failed, and a step begins another one. Can become under way.
    case repeating(StoreOutcome)
    /// Nothing follows.
    case closed(StoreOutcome)
  }

  private struct Entry {
    var phase = Phase.waiting
    /// The number of stores that it waits for and that have not closed.
    var missing = 0
    /// While it is under way.
    var run = StoreRunState()
    /// The attempt that is under way, or was the last one; and for how many its reducer is called, or was.
    var attempt = 1
    var begunCount = 0
    /// Of the pause before its next attempt.
    var timer: TimerToken?

    /// Whether its reducer is called, or was.
    var hasBegun: Bool { begunCount > 0 }

    var isWaiting: Bool {
      if case .waiting = phase { true } else { false }
    }

    /// It is under way once more, to be closed with an outcome.
    mutating func close(with outcome: StoreOutcome) {
      phase = .underWay
      _ = run.startReturned(outcome)
    }
  }

  private let graph: StoreGraph
  /// By store index.
  private var entries: [Entry]
  /// Steps that wait with a store whose changes are undelivered: the indices that each is to start.
  private var parked: [Int: [Int]] = [:]
  private var lastParked = 0
  private var open: Int
  /// Stores with a step, an operation or an end under way.
  private var active = 0
  private var undeliveredStores = 0
  private(set) var isCancelled = false
  /// Whether a store's reducer has been called: from then on, those that run regardless run.
  private var hasStarted: Bool

  /// - Parameters:
  ///   - ended: By store index: the outcomes of the stores that were run before; empty if none was.
  ///   - begun: The store index that has been started.
  init(_ graph: StoreGraph, ended: [StoreOutcome?] = [], begun: Int? = nil) {
    self.graph = graph
    open = graph.count
    // An inline run goes on in a round only before it has started a store, or after that.
    hasStarted = begun != nil || !ended.isEmpty
    entries = Array(repeating: Entry(), count: graph.count)
    if let prerequisites = graph.prerequisites {
      for (index, waits) in prerequisites.enumerated() {
        entries[index].missing = isPlanted(.droppedEdge) ? max(0, waits.count - 1) : waits.count
      }
    }
    for (index, outcome) in ended.enumerated() {
      if let outcome { note(outcome, of: index) }
    }
    if let begun {
      entries[begun].phase = .underWay
      entries[begun].begunCount = 1
      active = 1
    }
  }

  /// Closes a store; the stores that may start now.
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

  private func prerequisites(of index: Int) -> [Int] { graph.prerequisites?[index] ?? [] }

  /// The outcome of a store if the dispatch is cancelled between two attempts.
  private func outcomeOfPause(_ last: StoreOutcome, of index: Int) -> StoreOutcome {
    graph.runsRegardless[index] ? last : .cancelled(hasStarted: true)
  }

  var isClosed: Bool { open == 0 }

  /// Whether no store has anything left to do, but for what follows its end.
  var haveAllEnded: Bool {
    entries.allSatisfy { entry in
      switch entry.phase {
      case .closed: true
      case .underWay: entry.run.closingOutcome != nil
      case .waiting, .pausing, .repeating: false
      }
    }
  }

  /// The stores that have not been started and wait for nothing.
  var first: [Int] { entries.indices.filter { entries[$0].isWaiting && entries[$0].missing == 0 } }

  /// How the stores' parts ended, where one has not finished; those that have not ended are given as cancelled.
  var outcomes: [StoreOutcome] {
    let haveFinished = entries.allSatisfy {
      if case .closed(let outcome) = $0.phase { outcome.isFinished } else { false }
    }
    if haveFinished { return [] }
    return entries.enumerated().map { index, entry -> StoreOutcome in
      switch entry.phase {
      case .closed(let outcome): outcome
      case .waiting: .cancelled(hasStarted: false)
      case .underWay: entry.run.outcome ?? .cancelled(hasStarted: entry.hasBegun)
      case .pausing(let last), .repeating(let last): outcomeOfPause(last, of: index)
      }
    }
  }

  /// By store index: how often each has begun; nil where none has more than once.
  var attemptCounts: [Int]? {
    guard entries.contains(where: { $0.begunCount > 1 }) else { return nil }
    return entries.map { max($0.begunCount, 1) }
  }

  /// How those ended that a store which has started waited for.
  func prerequisiteResults(_ index: Int) -> [StoreResult] {
    prerequisites(of: index).compactMap { prerequisite in
      guard case .closed(let outcome) = entries[prerequisite].phase else { return nil }
      return StoreResult(storeIdentifier: graph.identifiers[prerequisite], outcome: outcome)
    }
  }

  /// Whether all that is under way is the delivery of deferred commits.
  var onlyDeliveryIsLeft: Bool { active == 0 && undeliveredStores > 0 }

  /// Whether only one store's part is under way.
  var isAlone: Bool { active == 1 && undeliveredStores == 0 && parked.isEmpty }

  /// What a step does to start a store.
  enum Start {
    /// Call its reducer.
    case run
    /// End it: a middleware has decided so, or the dispatch is cancelled.
    case end(StoreOutcome)
    /// End it: one of its prerequisites did not finish.
    case fail(prerequisite: Int, StoreOutcome)
  }

  /// A step starts the store.
  ///
  /// - Parameter verdict: The outcome that middlewares have decided, if any.
  mutating func start(_ index: Int, verdict: StoreOutcome? = nil) -> Start {
    // One that runs again is active.
    if case .waiting = entries[index].phase { active += 1 }
    entries[index].phase = .underWay
    entries[index].run = StoreRunState()
    if let verdict { return .end(verdict) }
    if isCancelled, !(hasStarted && graph.runsRegardless[index]) || isPlanted(.lostAudit) {
      return .end(.cancelled(hasStarted: entries[index].hasBegun))
    }
    for prerequisite in prerequisites(of: index) where !graph.runsRegardless[index] {
      if case .closed(let outcome) = entries[prerequisite].phase, !outcome.isFinished {
        return .fail(prerequisite: prerequisite, outcome)
      }
    }
    hasStarted = true
    entries[index].begunCount += 1
    return .run
  }

  /// A step is left with a store; the key to `unpark` it, once.
  mutating func park(_ indices: [Int]) -> Int {
    lastParked += 1
    parked[lastParked] = indices
    return lastParked
  }

  /// What that step is to start, and whether it starts the action; nil where it was resumed before.
  mutating func unpark(_ key: Int) -> (indices: [Int], isStart: Bool)? {
    parked.removeValue(forKey: key).map { ($0, !hasStarted) }
  }

  // MARK: A store under way

  /// Makes a transition of a store's part.
  private mutating func change<Result>(
    _ index: Int, _ transition: (inout StoreRunState) -> Result
  ) -> Result {
    let wasDelivery = entries[index].run.isDelivery
    let result = transition(&entries[index].run)
    if !wasDelivery, entries[index].run.isDelivery {
      active -= 1
      undeliveredStores += 1
    }
    return result
  }

  /// The same for what is reported of an attempt: a former one's report is late.
  private mutating func report(
    _ index: Int, of attempt: Int, _ transition: (inout StoreRunState) -> StoreRunState.Step
  ) -> StoreRunState.Step {
    guard case .underWay = entries[index].phase, attempt == entries[index].attempt else {
      return .wait
    }
    return change(index, transition)
  }

  /// An operation is about to run, or has been started; whether the dispatch is cancelled.
  mutating func started(_ operation: Operation, at index: Int) -> Bool {
    entries[index].run.operation = operation
    return isCancelled
  }

  /// A step runs the operation, whose dependencies have finished; false where it was run already, in a
  /// queue of the user's.
  mutating func run(_ index: Int) -> Bool {
    guard case .underWay = entries[index].phase else { return false }
    return entries[index].run.run()
  }

  /// The step that started the store has done so; `outcome` where it ended without an operation.
  mutating func startReturned(_ index: Int, _ outcome: StoreOutcome? = nil) -> StoreRunState.Step {
    guard case .underWay = entries[index].phase else { return .wait }
    return change(index) { $0.startReturned(outcome) }
  }

  mutating func becameReady(_ index: Int, of attempt: Int = 1) -> StoreRunState.Step {
    report(index, of: attempt) { $0.becameReady() }
  }

  mutating func operationEnded(_ index: Int, _ outcome: StoreOutcome) -> StoreRunState.Step {
    change(index) { $0.operationEnded(outcome) }
  }

  /// A task that the operation started begins a commit; false where the operation has ended.
  mutating func beginTaskCommit(_ index: Int, of attempt: Int = 1) -> Bool {
    guard case .underWay = entries[index].phase, attempt == entries[index].attempt else {
      return false
    }
    return entries[index].run.beginTaskCommit()
  }

  /// That commit is delivered, or left to a notifier.
  mutating func endTaskCommit(_ index: Int) -> StoreRunState.Step {
    change(index) { $0.endTaskCommit() }
  }

  mutating func commitDeferred(_ index: Int) {
    entries[index].run.commitDeferred()
  }

  func undeliveredCount(_ index: Int) -> Int {
    entries[index].run.undelivered
  }

  mutating func commitDelivered(_ index: Int) -> StoreRunState.Step {
    change(index) { $0.commitDelivered() }
  }

  // MARK: The end of a store

  /// `didDispatch` has been called; the stores that may start now, and what is to be released.
  mutating func closed(_ index: Int) -> (next: [Int], isClosed: Bool, operation: Operation?) {
    guard let outcome = closingOutcome(index) else { return ([], false, nil) }
    if entries[index].run.isDelivery { undeliveredStores -= 1 } else { active -= 1 }
    let next = note(outcome, of: index)
    return (next, isClosed, entries[index].run.operation.take())
  }

  private func closingOutcome(_ index: Int) -> StoreOutcome? {
    guard case .underWay = entries[index].phase else { return nil }
    return entries[index].run.closingOutcome
  }

  // MARK: Attempts

  /// The attempt with which a store closes, where another one may follow: its operation was made, and has failed.
  func failedAttempt(_ index: Int) -> Int? {
    let entry = entries[index]
    guard closingOutcome(index)?.isFailed == true, entry.begunCount == entry.attempt, !isCancelled
    else { return nil }
    return entry.attempt
  }

  /// `didDispatch` has been called for an attempt that another one is to follow.
  ///
  /// - Returns: What is to be released; nil where the dispatch is cancelled, and the store closes.
  mutating func retry(_ index: Int, pauses: Bool) -> Operation?? {
    guard let outcome = closingOutcome(index), !isCancelled || isPlanted(.pauseAfterCancel)
    else { return nil }
    let operation = entries[index].run.operation.take()
    if entries[index].run.isDelivery {
      undeliveredStores -= 1
      active += 1
    }
    entries[index].phase = pauses ? .pausing(outcome) : .repeating(outcome)
    entries[index].run = StoreRunState()
    entries[index].attempt += 1
    return .some(operation)
  }

  /// Keeps the timer of a pause; false where the pause is over.
  mutating func keep(_ timer: TimerToken, at index: Int, of attempt: Int)
    -> Bool
  {
    guard case .pausing = entries[index].phase, entries[index].attempt == attempt else {
      return false
    }
    entries[index].timer = timer
    return true
  }

  /// The pause before an attempt has passed; whether a step is to begin that.
  mutating func pausePassed(_ index: Int, before attempt: Int) -> Bool {
    guard case .pausing(let last) = entries[index].phase, entries[index].attempt == attempt else {
      return false
    }
    entries[index].timer = nil
    entries[index].phase = .repeating(last)
    return true
  }

  /// What a step does that is to start a store.
  enum Attempt {
    /// Start it: it is its first one.
    case first
    /// Call the hooks, and start it once more.
    case another(Int)
    /// Close it: the dispatch has been cancelled since the last one.
    case none
  }

  mutating func beginAttempt(_ index: Int) -> Attempt {
    switch entries[index].phase {
    case .repeating(let last) where isCancelled:
      entries[index].close(with: outcomeOfPause(last, of: index))
      return .none
    case .repeating:
      return .another(entries[index].attempt)
    default:
      return .first
    }
  }

  /// Where each store stands.
  var standings: [StoreStanding] {
    let parked = Set(parked.values.joined())
    return entries.enumerated().map { index, entry in
      let phase: StoreStanding.Phase =
        switch entry.phase {
        case .waiting: parked.contains(index) ? .parked : .waiting
        case .underWay: parked.contains(index) ? .parked : entry.run.standing
        case .pausing: .pausing(before: entry.attempt)
        case .repeating: .waiting
        case .closed: .closed
        }
      let awaited = prerequisites(of: index).filter { prerequisite in
        if case .closed = entries[prerequisite].phase { false } else { true }
      }
      return StoreStanding(
        identifier: graph.identifiers[index], phase: phase,
        prerequisites: awaited.map { graph.identifiers[$0] }, operation: entry.run.operation)
    }
  }

  /// The operations under way, or waiting for what they depend on.
  var operations: [Operation] { entries.compactMap(\.run.operation) }

  /// What has not started does not; `cancel()` follows.
  mutating func startNoMore() {
    isCancelled = true
  }

  /// What a cancellation concerns.
  struct Cancelled {
    /// The operations under way, with their store indices.
    var operations: [(index: Int, operation: Operation)] = []
    /// What parked steps were to start.
    var parked: [[Int]] = []
    /// The stores whose pauses end, to be closed; and their timers.
    var pauses: [(index: Int, timer: TimerToken?)] = []
  }

  mutating func cancel() -> Cancelled {
    isCancelled = true
    defer { parked = [:] }
    var cancelled = Cancelled(parked: Array(parked.values))
    for (index, entry) in entries.enumerated() {
      if let operation = entry.run.operation { cancelled.operations.append((index, operation)) }
      guard case .pausing(let last) = entry.phase else { continue }
      if isPlanted(.lostPauseEnd) { continue }
      entries[index].close(with: outcomeOfPause(last, of: index))
      cancelled.pauses.append((index, entries[index].timer.take()))
    }
    return cancelled
  }
}
